"""A frozen map and a dict that are changed alike have the same items, and earlier versions keep theirs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.client.frozen_map import FrozenMap

keys = st.integers(-3, 3) | st.integers() | st.text(max_size=3) | st.sampled_from([2**61 - 1, 2**61, -1, -2])
changes = st.lists(st.tuples(st.booleans(), keys, st.integers()), max_size=60)


@given(changes, st.lists(keys, max_size=5))
def test_it_has_what_a_dict_has_after_the_same_changes(
    steps: list[tuple[bool, int | str, int]], others: list[int | str]
) -> None:
    found: FrozenMap[int | str, int] = FrozenMap()
    expected: dict[int | str, int] = {}
    versions = [(found, dict(expected))]
    for adds, key, value in steps:
        if adds:
            found = found.with_item(key, value)
            expected[key] = value
        else:
            found = found.without(key)
            expected.pop(key, None)
        versions.append((found, dict(expected)))
    for version, items in versions:
        assert dict(version) == items
        assert len(version) == len(items)
        for key in (*others, *(key for _, key, _ in steps)):
            assert version.get(key) == items.get(key)
            assert version.get(key, 7) == items.get(key, 7)
            assert (key in version) == (key in items)


def test_taking_away_what_is_not_there_changes_nothing() -> None:
    found = FrozenMap[str, int]().with_item("a", 1)
    assert found.without("b") is found
