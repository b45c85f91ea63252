"""What the server's assignors are given and what they give; which ones there are says `groups.assignors`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from penstock.groups.consumer_records import Assignment

Partition = tuple[bytes, int]  # topic id and index


class AssignedMember(NamedTuple):
    """A member as an assignor sees it."""

    instance_id: str | None
    rack_id: str | None
    topics: frozenset[bytes]
    has: Assignment  # its present target


class Spec(NamedTuple):
    """All members and all topics that any of them reads. A topic of an id that is not in `topics` is gone."""

    members: Mapping[str, AssignedMember]
    topics: Mapping[bytes, int]  # number of partitions
    racks: Mapping[Partition, frozenset[str]] = {}  # of those partitions whose racks are known


Assign = Callable[[Spec], dict[str, Assignment]]
"""Every member in, every member out; each partition of a topic that a member reads has exactly one owner."""
