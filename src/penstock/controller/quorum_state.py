"""`quorum-state`: what of an election must survive a crash, in Kafka's JSON (version 0, for voters that are
fixed).

Written by whoever drives Raft, before a message that rests on it leaves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Final

from penstock.raft.state import Election
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

FILE_NAME: Final = "quorum-state"
_VERSION: Final = 0
_NOBODY: Final = -1


def read_election(disk: Disk, directory: str) -> Election | None:
    """What the last life knew; None when there was none, or one from before there was a quorum."""
    path = os.path.join(directory, FILE_NAME)
    try:
        data = disk.read_bytes(path)
    except FileNotFoundError:
        return None
    try:
        fields = json.loads(data)
        if fields["data_version"] != _VERSION:
            raise ValueError(f"version {fields['data_version']} is not {_VERSION}")
        epoch, voted, leader = (int(fields[name]) for name in ("leaderEpoch", "votedId", "leaderId"))
    except (ValueError, KeyError, TypeError) as error:
        raise Corruption(path, 0, f"no quorum-state of this version: {error}") from error
    return Election(epoch, _or_nobody(voted), _or_nobody(leader))


def write_election(disk: Disk, directory: str, election: Election, voters: Iterable[int]) -> None:
    """Durable when this returns."""
    fields = {
        "clusterId": "",
        "leaderId": _NOBODY if election.leader_id is None else election.leader_id,
        "leaderEpoch": election.epoch,
        "votedId": _NOBODY if election.voted_for is None else election.voted_for,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": voter} for voter in sorted(voters)],
        "data_version": _VERSION,
    }
    text = json.dumps(fields, separators=(",", ":"))
    disk.write_atomic(os.path.join(directory, FILE_NAME), text.encode())


def _or_nobody(node_id: int) -> int | None:
    return None if node_id == _NOBODY else node_id
