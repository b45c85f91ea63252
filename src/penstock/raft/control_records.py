"""The control records of a quorum's log, in Kafka's layout: LeaderChange, the voters, and the header and
footer of snapshots.

A control record's key is a version and a type; its value is a flexible structure that begins with its own
version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from penstock.protocol.primitives import Reader, Writer
from penstock.raft.voters import DYNAMIC, Voter, VoterEndpoint, VoterSet
from penstock.records.batch import iter_headers
from penstock.records.record import Record, decode_batch, encode_batch

LEADER_CHANGE: Final = 2
SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
VOTERS: Final = 6
_UINT16: Final = 0xFFFF
_VERSION: Final = 0


def leader_change(leader_id: int, voters: Iterable[int], granting: Iterable[int], now_ms: int) -> bytes:
    """The first batch of an epoch. Committing it commits everything before it, too."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.int32(leader_id)
    for nodes in (sorted(voters), sorted(granting)):
        value.array(len(nodes))
        for node in nodes:
            value.int32(node)
            value.tags()
    value.tags()
    return _batch(LEADER_CHANGE, value, now_ms)


def snapshot_header(last_contained_ms: int, now_ms: int) -> bytes:
    """The first batch of a snapshot: the time of the last record that is in it."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.int64(last_contained_ms)
    value.tags()
    return _batch(SNAPSHOT_HEADER, value, now_ms)


def snapshot_footer(now_ms: int) -> bytes:
    """The last batch of a snapshot: one without it is not whole."""
    value = Writer(flexible=True)
    value.int16(_VERSION)
    value.tags()
    return _batch(SNAPSHOT_FOOTER, value, now_ms)


def voters_batch(voters: VoterSet, now_ms: int) -> bytes:
    """From here on the log names the voters: a KRaftVersionRecord and a VotersRecord."""
    version = Writer(flexible=True)
    version.int16(_VERSION)
    version.int16(DYNAMIC)
    version.tags()
    named = Writer(flexible=True)
    named.int16(_VERSION)
    named.array(len(voters.voters))
    for voter in voters.voters:
        _write_voter(named, voter)
    named.tags()
    return _batch_of([(KRAFT_VERSION, version), (VOTERS, named)], now_ms)


def _write_voter(out: Writer, voter: Voter) -> None:
    out.int32(voter.node_id)
    out.uuid(voter.directory_id)
    out.array(len(voter.endpoints))
    for endpoint in voter.endpoints:
        out.string(endpoint.name)
        out.string(endpoint.host)
        out.data += endpoint.port.to_bytes(2, "big")
        out.tags()
    out.int16(voter.min_kraft_version)
    out.int16(voter.max_kraft_version)
    out.tags()
    out.tags()


def voters_in(batches: bytes) -> Iterator[tuple[int, VoterSet]]:
    """Every VotersRecord of these batches, with its offset."""
    for position, header in iter_headers(batches):
        if header.is_control:
            for record in decode_batch(batches, position):
                if control_type(record) == VOTERS:
                    yield record.offset, _read_voters(record.value or b"")


def _read_voters(value: bytes) -> VoterSet:
    reader = Reader(memoryview(value), flexible=True)
    reader.int16()
    voters = VoterSet.of(_read_voter(reader) for _ in range(reader.array()))
    reader.tags()
    return voters


def _read_voter(reader: Reader) -> Voter:
    node_id, directory_id = reader.int32(), reader.uuid()
    endpoints = []
    for _ in range(reader.array()):
        name, host, port = reader.string(), reader.string(), reader.int16() & _UINT16
        reader.tags()
        endpoints.append(VoterEndpoint(name, host, port))
    lowest, highest = reader.int16(), reader.int16()
    reader.tags()
    reader.tags()
    return Voter(node_id, directory_id, tuple(endpoints), lowest, highest)


def control_type(record: Record) -> int:
    """Which control record this is."""
    return int.from_bytes((record.key or b"")[2:4], "big")


def _batch(kind: int, value: Writer, now_ms: int) -> bytes:
    return _batch_of([(kind, value)], now_ms)


def _batch_of(values: list[tuple[int, Writer]], now_ms: int) -> bytes:
    version = _VERSION.to_bytes(2, "big")
    records = [
        Record(version + kind.to_bytes(2, "big"), bytes(value.data), (), now_ms) for kind, value in values
    ]
    return bytes(encode_batch(records, control=True))
