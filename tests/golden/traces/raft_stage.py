"""A quorum for traces of Raft: real cores on real logs, whose messages go when a command says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.raft.control_records import LEADER_CHANGE, VOTERS, control_type, voters_batch
from penstock.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OffsetAndEpoch,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from penstock.raft.roles import Candidate, Follower, Prospective
from penstock.raft.voters import VoterSet
from penstock.records.batch import iter_headers
from penstock.records.record import decode_batch
from tests.golden.traces.trace import Command
from tests.raft.quorum import Member, Quorum

MOST_ROUNDS = 40

Facts = dict[str, str]


class RaftStage:
    """Commands of the traces in `raft/`."""

    def __init__(self) -> None:
        self._quorum = Quorum(1)
        self._facts: dict[int, Facts] = {}
        self._dead: set[int] = set()

    def do(self, command: Command) -> Iterator[str]:
        run: Callable[[Command], Iterator[str]] = getattr(self, f"_do_{command.name.replace('-', '_')}")
        yield from run(command)

    # Commands

    def _do_voters(self, command: Command) -> Iterator[str]:
        """`voters 1 2 3 observers=4`: a new quorum. The first fetches, which find no leader, are left out."""
        self._quorum = Quorum(*map(int, command.words), observers=command.numbers("observers"))
        self._dead = set()
        for node, member in self._quorum.members.items():
            member.said.clear()
            self._facts[node] = facts(member)
        yield from self._do_status(command)

    def _do_timeout(self, command: Command) -> Iterator[str]:
        """`timeout 1`: the node has waited long enough, for a leader or for an election."""
        node = command.number()
        role: Any = self._quorum[node].raft.state.role
        if isinstance(role, Follower):
            role.fetch_deadline = 0.0
        else:
            role.election_deadline = 0.0
        self._quorum[node].turn()
        yield from self._changes(node)

    def _do_elect(self, command: Command) -> Iterator[str]:
        """`elect 1`: the node stands and wins, and all have heard of it; `election.txt` shows how."""
        node = command.number()
        self._quorum.elect(node)
        self._quorum.carry()
        for other, member in self._quorum.members.items():
            self._facts[other] = facts(member)
        yield from self._do_status(command)

    def _do_retry(self, command: Command) -> Iterator[str]:
        """`retry 3`: the node's last fetch counts as lost, and it asks again."""
        node = command.number()
        role: Any = self._quorum[node].raft.state.role
        role.asked = None
        self._quorum[node].turn()
        yield from self._changes(node)

    def _do_pass(self, command: Command) -> Iterator[str]:
        """`pass 3000 without=1`: time passes; messages go, except those from and to some nodes."""
        without = (*command.numbers("without"), *self._dead)
        self._quorum.wait(command.number(), without=without)
        for node in self._quorum.members:
            yield from self._changes(node)

    def _do_deliver(self, command: Command) -> Iterator[str]:
        """`deliver rounds=2 without=3`: everything that was said is heard, and what is said then, until it is
        quiet. What some nodes say or should hear is lost."""
        without = {*command.numbers("without"), *self._dead}
        for _ in range(int(command.options.get("rounds", MOST_ROUNDS))):
            said = [message for member in self._quorum.members.values() for message in member.said]
            for member in self._quorum.members.values():
                member.said = []
            for message in said:
                if message.source in without or message.destination in without:
                    continue
                yield f"{message.source} → {message.destination}  {told(message)}"
                self._quorum[message.destination].hear(message)
                yield from self._changes(message.destination)

    def _do_propose(self, command: Command) -> Iterator[str]:
        """`propose 1 a`: the leader appends a record."""
        node = command.number()
        self._quorum[node].propose(command.words[1].encode())
        yield from self._changes(node)

    def _do_resign(self, command: Command) -> Iterator[str]:
        node = command.number()
        self._quorum[node].raft.resign()
        self._quorum[node].turn()
        yield from self._changes(node)

    def _do_snapshot(self, command: Command) -> Iterator[str]:
        """`snapshot 1`: the node keeps a snapshot of what is committed."""
        node = command.number()
        member = self._quorum[node]
        mark = member.raft.high_watermark
        voters = member.raft.state.voter_history.at(mark)
        data = b"state" if voters is None else voters_batch(voters, 0)
        member.log.write_snapshot(OffsetAndEpoch(mark, member.storage.epochs.epoch_of(mark - 1)), data)
        yield from self._changes(node)

    def _do_change_voters(self, command: Command) -> Iterator[str]:
        """`change-voters 1 to=1,2,3`: the leader 1 lets a node join or leave."""
        node = command.number()
        self._quorum[node].raft.change_voters(VoterSet.of_ids(command.numbers("to")))
        self._quorum[node].turn()
        yield from self._changes(node)

    def _do_stop(self, command: Command) -> Iterator[str]:
        """`stop 1`: the power of a node fails."""
        node = command.number()
        self._dead.add(node)
        self._quorum[node].disk.crash()
        yield f"  {node} is gone"

    def _do_start(self, command: Command) -> Iterator[str]:
        node = command.number()
        self._dead.discard(node)
        self._quorum[node].start()
        self._quorum[node].said.clear()
        yield from self._changes(node)

    def _do_status(self, command: Command) -> Iterator[str]:
        for node, member in self._quorum.members.items():
            if node not in self._dead:
                found = ", ".join(f"{name} {fact}" for name, fact in facts(member).items())
                yield f"  {node}: {found}"

    def _do_log(self, command: Command) -> Iterator[str]:
        """`log 1`: what a node has."""
        member = self._quorum[command.number()]
        start, data = member.log.start, b""
        offset = start.offset
        while piece := member.log.read(offset, 1 << 20):
            data += piece
            for _, header in iter_headers(piece):
                offset = header.next_offset
        yield f"  from {start.offset}: {contents(data)}"

    # What has changed

    def _changes(self, node: int) -> Iterator[str]:
        before, now = self._facts.get(node, {}), facts(self._quorum[node])
        self._facts[node] = now
        for name, fact in now.items():
            if before.get(name) != fact:
                yield f"  {node}: {name} {fact}" + (f" (was {before[name]})" if name in before else "")


def facts(member: Member) -> Facts:
    """What a reader wants to know of a node."""
    state = member.raft.state
    found = {
        "is": type(state.role).__name__,
        "epoch": str(state.epoch),
        "log ends at": f"{state.log_end.offset} of epoch {state.log_end.epoch}",
        "high watermark": str(state.high_watermark),
    }
    if isinstance(state.role, Follower):
        found["is"] = f"Follower of {state.role.leader_id}"
    if isinstance(state.role, Prospective | Candidate):
        found["has votes of"] = _nodes(state.role.granted)
    if state.voted_for is not None:
        found["voted for"] = str(state.voted_for)
    if state.voter_history.kraft_version:
        found["voters are"] = _nodes(state.voters)
    if member.log.start.offset:
        found["log begins at"] = str(member.log.start.offset)
    if member.log.latest_snapshot is not None:
        found["has a snapshot to"] = str(member.log.latest_snapshot.offset)
    return found


def told(message: Request | Response) -> str:
    """A message in one line."""
    match message:
        case VoteRequest():
            kind = "Would you vote for me" if message.pre_vote else "Vote for me"
            end = message.log_end
            return f"{kind}? epoch {message.epoch}, my log ends at {end.offset} of epoch {end.epoch}"
        case VoteResponse():
            kind = "pre-vote" if message.pre_vote else "vote"
            return f"{kind} {'granted' if message.granted else 'refused'}{_known(message)}"
        case BeginQuorumEpochRequest():
            return f"BeginQuorumEpoch: I lead epoch {message.epoch}"
        case EndQuorumEpochRequest():
            successors = ", ".join(map(str, message.successors))
            return f"EndQuorumEpoch: I led epoch {message.epoch}; stand in this order: {successors}"
        case FetchRequest():
            return (
                f"Fetch from {message.fetch_offset}, my last epoch is {message.last_fetched_epoch}, "
                f"my high watermark {message.high_watermark}"
            )
        case FetchResponse():
            return f"Fetch answer: {_fetched(message)}"
        case FetchSnapshotRequest():
            return f"FetchSnapshot to {message.snapshot.offset}, from byte {message.position}"
        case FetchSnapshotResponse():
            end = message.position + len(message.chunk)
            return f"FetchSnapshot answer: bytes {message.position} to {end} of {message.size_bytes}"
    return f"{type(message).__name__.removesuffix('Response')} answer{_known(message)}"


def _known(message: Any) -> str:
    error = "" if message.error is ErrorCode.NONE else f", {message.error.name}"
    leader = "" if message.leader_id is None else f", {message.leader_id} leads"
    return f" in epoch {message.epoch}{leader}{error}"


def _fetched(message: FetchResponse) -> str:
    if message.error is not ErrorCode.NONE:
        return _known(message).strip()
    if message.diverging is not None:
        return f"our logs differ: epoch {message.diverging.epoch} ends at {message.diverging.offset} here"
    if message.snapshot is not None:
        return f"fetch my snapshot to {message.snapshot.offset} first"
    return f"{contents(message.batches)}, high watermark {message.high_watermark}"


def contents(data: bytes) -> str:
    """Batches in one line: offset, epoch and what is in each."""
    found = []
    for position, header in iter_headers(data):
        records = decode_batch(data, position)
        if not header.is_control:
            values = " ".join((record.value or b"").decode() for record in records)
        elif control_type(records[-1]) == VOTERS:
            values = "Voters"
        else:
            values = "LeaderChange" if control_type(records[0]) == LEADER_CHANGE else "control"
        found.append(f"{header.base_offset}:{values}@{header.leader_epoch}")
    return f"[{', '.join(found)}]" if found else "nothing"


def _nodes(nodes: Any) -> str:
    return ", ".join(map(str, sorted(nodes))) or "nobody"
