"""Parts that the answers of ShareFetch and ShareAcknowledge have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.protocol.leader_hints import CurrentLeader
from penstock.protocol.metadata import Node

NO_LEADER: Final = {"leader_id": -1, "leader_epoch": -1}


def leader_of(leader: CurrentLeader | None) -> dict[str, int]:
    if leader is None:
        return NO_LEADER
    return {"leader_id": leader.leader_id, "leader_epoch": leader.leader_epoch}


def node_rows(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    return [
        {"node_id": node.node_id, "host": node.host, "port": node.port, "rack": node.rack} for node in nodes
    ]
