"""What the real backend does with groups: those of consumers, and share groups (KIP-932) beside them.
Blocking: `client_backend` calls it in threads.
"""

from __future__ import annotations

from penstock.client.admin import Admin, Partition
from penstock.client.direct_admin import DirectAdmin
from penstock.client.errors import InvalidValue, Unsupported
from penstock.client.groups import Groups
from penstock.client.metadata import GroupInfo, GroupMember
from penstock.client.share_groups import ShareGroups
from penstock.client.targets import Target
from penstock.console.cluster_values import GroupsNow, Move

SHARE = "SHARE"


class GroupOperations:
    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._groups = Groups(admin)
        self._shares = ShareGroups(admin.connection, DirectAdmin(admin.connection))
        self._has_shares = True
        """False once a cluster has said that it knows no share groups."""

    def now(self) -> GroupsNow:
        infos = self._groups.describe_all()
        committed = self._groups.committed_of_all(info.group_id for info in infos)
        for info, places in self._share_groups():
            infos.append(info)
            committed[info.group_id] = places
        read = sorted({partition for offsets in committed.values() for partition in offsets})
        return GroupsNow(tuple(infos), committed, self._admin.end_offsets(read))

    def reset_plan(self, group_id: str, topics: tuple[str, ...], target: Target) -> list[Move]:
        shared = self._share_places(group_id)
        committed = self._groups.committed(group_id) if shared is None else shared
        names = topics or tuple(sorted({topic for topic, _ in committed}))
        if not names:
            raise InvalidValue(f"Group {group_id!r} has committed nothing. Name the topics that it reads.")
        wanted = self._groups.offsets_for(names, target, committed)
        ends = self._admin.end_offsets(wanted)
        return [
            Move(topic, index, committed.get((topic, index)), offset, ends.get((topic, index), offset))
            for (topic, index), offset in sorted(wanted.items())
        ]

    def reset(self, group_id: str, moves: list[Move]) -> None:
        wanted = {(move.topic, move.partition): move.wanted for move in moves}
        is_shared = self._share_places(group_id) is not None
        members = (self._shares if is_shared else self._groups).describe(group_id).members
        if members:
            raise InvalidValue(
                f"Group {group_id!r} has {len(members)} members, so its offsets cannot be set. "
                "Stop its consumers first."
            )
        if is_shared:
            self._shares.set_places(group_id, wanted)
        else:
            self._groups.set_offsets(group_id, wanted)

    def delete(self, group_id: str) -> None:
        if self._share_places(group_id) is None:
            self._groups.delete(group_id)
        else:
            self._shares.delete(group_id)

    def _share_groups(self) -> list[tuple[GroupInfo, dict[Partition, int]]]:
        if not self._has_shares:
            return []
        try:
            found = self._shares.describe_all_with_places()
        except Unsupported:
            self._has_shares = False
            return []
        return [
            (
                GroupInfo(
                    group.group_id,
                    group.group_state.upper(),
                    SHARE,
                    is_simple=False,
                    assignor="",
                    coordinator=group.coordinator,
                    members=tuple(
                        GroupMember(each.consumer_id, None, each.client_id, each.host, tuple(each.assignment))
                        for each in group.members
                    ),
                ),
                places,
            )
            for group, places in found
        ]

    def _share_places(self, group_id: str) -> dict[Partition, int] | None:
        """Where a share group goes on; None if the group is none."""
        found = self._share_groups()
        return next((places for info, places in found if info.group_id == group_id), None)
