"""The way from a leader of partitions to the coordinators that keep their states, wherever these are."""

from __future__ import annotations

from typing import Protocol

from penstock.coordinator.promise import Promise
from penstock.share.state import PartitionState, SharePartitionKey


class States(Protocol):
    """`ShareCoordinator` is one; `server.cluster.share_states_anywhere` finds the right one."""

    def initialise(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Promise[None]: ...

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Promise[PartitionState]: ...

    def write(self, key: SharePartitionKey, state: PartitionState) -> Promise[None]: ...

    def delete(self, key: SharePartitionKey) -> Promise[None]: ...

    def summary(self, key: SharePartitionKey) -> Promise[PartitionState]: ...
