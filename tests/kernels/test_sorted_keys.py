"""Keys stay in order whatever is added and removed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import sorted_keys
from penstock.kernels.sorted_keys import SortedKeys


@given(
    st.lists(st.tuples(st.booleans(), st.binary(max_size=2))), st.binary(max_size=2), st.binary(max_size=2)
)
def test_it_is_a_sorted_set(steps: list[tuple[bool, bytes]], low: bytes, high: bytes) -> None:
    chunk, sorted_keys.CHUNK = sorted_keys.CHUNK, 3
    try:
        keys, model = SortedKeys(), set[bytes]()
        for add, key in steps:
            if add and key not in model:
                keys.add(key)
                model.add(key)
            elif not add and key in model:
                keys.remove(key)
                model.remove(key)
            assert list(keys) == sorted(model)
            assert keys.first() == min(model, default=None)
        assert keys.between(low, high) == [key for key in sorted(model) if low <= key <= high]
    finally:
        sorted_keys.CHUNK = chunk
