"""The assignor of share groups: every partition has a reader, every reader a partition, and both as evenly as
that allows. Members share partitions where there are more members than partitions."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.groups.consumer_group import nested
from penstock.groups.consumer_records import Assignment


def assign(members: Mapping[str, frozenset[bytes]], topics: Mapping[bytes, int]) -> dict[str, Assignment]:
    """`members` read these topics; `topics` have so many partitions."""
    found: dict[str, list[tuple[bytes, int]]] = {member_id: [] for member_id in members}
    wishes: dict[frozenset[bytes], list[str]] = {}
    for member_id in sorted(members):
        wishes.setdefault(frozenset(members[member_id] & topics.keys()), []).append(member_id)
    for wanted, readers in sorted(wishes.items(), key=lambda wish: sorted(wish[0])):
        places = [(topic_id, index) for topic_id in sorted(wanted) for index in range(topics[topic_id])]
        if places:
            for at in range(max(len(places), len(readers))):
                found[readers[at % len(readers)]].append(places[at % len(places)])
    return {member_id: nested(places) for member_id, places in found.items()}
