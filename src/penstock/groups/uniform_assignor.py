"""The uniform assignor: as even as the subscriptions allow, and as little moved as that allows.

1. Members keep what they have, up to their fair share.
2. What is free goes to the members with the least, to one in a rack of the partition before others.
3. Where members read different topics, single partitions move from who has more to who has less, until that
   helps nobody.
"""

from __future__ import annotations

import heapq

from penstock.groups.assignor import Partition, Spec
from penstock.groups.consumer_group import flatten, nested
from penstock.groups.consumer_records import Assignment

NAME = "uniform"


def assign(spec: Spec) -> dict[str, Assignment]:
    return _Balance(spec).run()


class _Balance:
    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        readers: dict[bytes, list[str]] = {topic_id: [] for topic_id in spec.topics}
        for member_id, member in spec.members.items():
            for topic_id in member.topics & spec.topics.keys():
                readers[topic_id].append(member_id)
        self._readers = {topic_id: members for topic_id, members in readers.items() if members}
        self._shares: dict[str, set[Partition]] = {member_id: set() for member_id in spec.members}
        subscriptions = {frozenset(member.topics & self._readers.keys()) for member in spec.members.values()}
        self._is_homogeneous = len(subscriptions) <= 1

    def run(self) -> dict[str, Assignment]:
        wanted = [
            (topic_id, index)
            for topic_id in sorted(self._readers)
            for index in range(self._spec.topics[topic_id])
        ]
        self._hand_out(self._keep(wanted))
        if not self._is_homogeneous:
            self._even_out()
        return {member_id: nested(share) for member_id, share in self._shares.items()}

    def _keep(self, wanted: list[Partition]) -> list[Partition]:
        """Leave every member what it may keep; the rest is free."""
        free = dict.fromkeys(wanted)
        least, extra = divmod(len(wanted), len(self._shares)) if self._shares else (0, 0)
        for member_id, member in self._spec.members.items():
            kept = [
                part
                for part in sorted(flatten(member.has))
                if part in free and part[0] in member.topics and member_id in self._readers[part[0]]
            ]
            if self._is_homogeneous:
                limit = least + 1 if extra and len(kept) > least else least
                extra -= limit > least
                kept = self._in_own_rack_first(kept, member.rack_id)[:limit]
            for part in kept:
                del free[part]
            self._shares[member_id].update(kept)
        return list(free)

    def _in_own_rack_first(self, parts: list[Partition], rack_id: str | None) -> list[Partition]:
        if rack_id is None or not self._spec.racks:
            return parts
        return sorted(parts, key=lambda part: rack_id not in self._spec.racks.get(part, ()))

    def _hand_out(self, free: list[Partition]) -> None:
        """To the least loaded reader. Partitions with the fewest readers come first: they have the least
        choice."""
        free.sort(key=lambda part: (len(self._readers[part[0]]), part))
        if self._spec.racks and any(member.rack_id for member in self._spec.members.values()):
            free = self._hand_out_by_rack(free)
        heaps: dict[bytes, list[tuple[int, str]]] = {}
        for part in free:
            member_id = self._least_loaded(heaps, part[0])
            self._shares[member_id].add(part)

    def _hand_out_by_rack(self, free: list[Partition]) -> list[Partition]:
        """Partitions to members beside a replica, as long as these have not more than the fair share."""
        total = sum(self._spec.topics[topic_id] for topic_id in self._readers)
        fair = total // max(1, len(self._shares))
        left = []
        for part in free:
            racks = self._spec.racks.get(part, frozenset())
            near = [
                member_id
                for member_id in self._readers[part[0]]
                if self._spec.members[member_id].rack_id in racks and len(self._shares[member_id]) < fair
            ]
            if near:
                self._shares[min(near, key=lambda id_: (len(self._shares[id_]), id_))].add(part)
            else:
                left.append(part)
        return left

    def _least_loaded(self, heaps: dict[bytes, list[tuple[int, str]]], topic_id: bytes) -> str:
        """A heap per topic, put right lazily: loads only grow here."""
        heap = heaps.get(topic_id)
        if heap is None:
            heap = heaps[topic_id] = [(len(self._shares[id_]), id_) for id_ in self._readers[topic_id]]
            heapq.heapify(heap)
        while True:
            load, member_id = heap[0]
            present = len(self._shares[member_id])
            if load == present:
                heapq.heapreplace(heap, (load + 1, member_id))
                return member_id
            heapq.heapreplace(heap, (present, member_id))

    def _even_out(self) -> None:
        """Each move brings two members closer, so this ends."""
        moved = True
        while moved:
            moved = False
            for topic_id, readers in self._readers.items():
                moved |= self._even_out_topic(topic_id, readers)

    def _even_out_topic(self, topic_id: bytes, readers: list[str]) -> bool:
        moved = False
        while True:
            poorest = min(readers, key=lambda id_: (len(self._shares[id_]), id_))
            rich = [id_ for id_ in readers if any(part[0] == topic_id for part in self._shares[id_])]
            if not rich:
                return moved
            richest = max(rich, key=lambda id_: (len(self._shares[id_]), id_))
            if len(self._shares[richest]) - len(self._shares[poorest]) < 2:
                return moved
            part = max(part for part in self._shares[richest] if part[0] == topic_id)
            self._shares[richest].remove(part)
            self._shares[poorest].add(part)
            moved = True
