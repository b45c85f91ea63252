"""The largest matching between two sides, by augmenting paths: alternatives of one union to another's."""

from __future__ import annotations


def largest_matching(edges: list[list[int]]) -> int:
    """How many of the left can have a partner each; `edges[i]` are those that i may have."""
    partner: dict[int, int] = {}

    def place(left: int, tried: set[int]) -> bool:
        for right in edges[left]:
            if right in tried:
                continue
            tried.add(right)
            if right not in partner or place(partner[right], tried):
                partner[right] = left
                return True
        return False

    return sum(place(left, set()) for left in range(len(edges)))
