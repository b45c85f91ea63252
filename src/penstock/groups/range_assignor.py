"""The range assignor: of each topic, every member gets one stretch of partitions.

Members stand in one order for all topics, so topics with the same number of partitions are cut alike: who has
partition 3 of one has partition 3 of the others. Static members are ordered by instance id, so that a restart
changes nothing.
"""

from __future__ import annotations

from penstock.groups.assignor import AssignedMember, Spec
from penstock.groups.consumer_records import Assignment

NAME = "range"


def assign(spec: Spec) -> dict[str, Assignment]:
    result: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in spec.members}
    order = sorted(spec.members, key=lambda member_id: _place(member_id, spec.members[member_id]))
    for topic_id, partitions in spec.topics.items():
        readers = [member_id for member_id in order if topic_id in spec.members[member_id].topics]
        if not readers:
            continue
        share, extra = divmod(partitions, len(readers))
        start = 0
        for rank, member_id in enumerate(readers):
            end = start + share + (rank < extra)
            if end > start:
                result[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(result)


def _place(member_id: str, member: AssignedMember) -> tuple[bool, str]:
    return (member.instance_id is None, member.instance_id or member_id)
