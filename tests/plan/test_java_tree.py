"""A sorted set that behaves as Java's, also while the order of its elements changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.java_tree import JavaTree


@given(st.lists(st.integers(), max_size=60))
def test_elements_come_in_order(numbers: list[int]) -> None:
    items = [(number,) for number in numbers]
    tree: JavaTree[tuple[int]] = JavaTree(lambda one, other: one < other)
    for item in items:
        tree.add(item)
    assert list(tree) == sorted(items)


def test_the_same_element_is_kept_once() -> None:
    tree: JavaTree[str] = JavaTree(lambda one, other: one < other)
    for name in ("b", "a", "b"):
        tree.add(name)
    assert list(tree) == ["a", "b"]
