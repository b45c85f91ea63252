"""Who leads instead: told with NOT_LEADER_OR_FOLLOWER, so that a client need not ask for metadata first
(KIP-951). Tagged fields of the answers to Produce (from v10 on) and Fetch (the leader from v12 on, its
address from v16 on)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.protocol.metadata import Node
from penstock.protocol.primitives import NO_TAGS, Writer

NODES_TAG: Final = 0
_LEADER: Final = struct.Struct(">ii")


class CurrentLeader(NamedTuple):
    leader_id: int
    leader_epoch: int


def leader_field(leader: CurrentLeader) -> bytes:
    """The value of the tagged field of a partition."""
    return _LEADER.pack(*leader) + NO_TAGS


def nodes_field(nodes: Sequence[Node]) -> dict[int, bytes] | None:
    """The tagged field of the whole answer; None when there is nobody to name."""
    if not nodes:
        return None
    writer = Writer(flexible=True)
    writer.array(len(nodes))
    for node in nodes:
        writer.int32(node.node_id)
        writer.string(node.host)
        writer.int32(node.port)
        writer.nullable_string(node.rack)
        writer.tags()
    return {NODES_TAG: bytes(writer.data)}
