"""`quorum-state`: what of an election must survive a crash, in Kafka's JSON.

Version 0 is for voters that the settings name, and repeats them; version 1 is for voters that the log names.
The driver of Raft writes the file before a message that rests on it leaves.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from penstock.raft.state import Election
from penstock.raft.voters import STATIC, VoterHistory
from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

FILE_NAME: Final = "quorum-state"
_STATIC_VOTERS: Final = 0
_DYNAMIC_VOTERS: Final = 1
_NO_DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAA"
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
        if fields["data_version"] not in (_STATIC_VOTERS, _DYNAMIC_VOTERS):
            raise ValueError(f"version {fields['data_version']} is neither 0 nor 1")
        epoch, voted, leader = (int(fields[name]) for name in ("leaderEpoch", "votedId", "leaderId"))
    except (ValueError, KeyError, TypeError) as error:
        raise Corruption(path, 0, f"no quorum-state of this version: {error}") from error
    return Election(epoch, _or_nobody(voted), _or_nobody(leader))


def write_election(disk: Disk, directory: str, election: Election, voters: VoterHistory) -> None:
    """Durable when this returns."""
    fields: dict[str, Any] = {
        "leaderId": _NOBODY if election.leader_id is None else election.leader_id,
        "leaderEpoch": election.epoch,
        "votedId": _NOBODY if election.voted_for is None else election.voted_for,
    }
    if voters.kraft_version == STATIC:
        current = [{"voterId": voter} for voter in sorted(voters.latest.ids)]
        fields |= {"clusterId": "", "appliedOffset": 0, "currentVoters": current}
        fields["data_version"] = _STATIC_VOTERS
    else:
        fields |= {"votedDirectoryId": _NO_DIRECTORY, "data_version": _DYNAMIC_VOTERS}
    text = json.dumps(fields, separators=(",", ":"))
    disk.write_atomic(os.path.join(directory, FILE_NAME), text.encode())


def _or_nobody(node_id: int) -> int | None:
    return None if node_id == _NOBODY else node_id
