"""The lines of `kafka-dump-log` for each kind of file of a log."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock.cli.kafka.log_decoders import Decoder
from penstock.cli.kafka.options import CommandFailed

LARGEST_INT: Final = 2_147_483_647
_INDEX: Final = struct.Struct(">ii")
_TIME_INDEX: Final = struct.Struct(">qi")
_CONTROL_KEY: Final = struct.Struct(">hh")
_CONTROL_TYPES: Final = {2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER", 4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION"}
Pairs = dict[str, list[tuple[int, int]]]


@dataclass
class Dump:
    """What was found wrong, by file."""

    mismatches: Pairs = field(default_factory=lambda: defaultdict(list))
    out_of_order: Pairs = field(default_factory=lambda: defaultdict(list))
    gaps: Pairs = field(default_factory=lambda: defaultdict(list))


def log_lines(
    path: Path, dump: Dump, *, deep: bool, bare: bool, chosen: Decoder | None, max_bytes: int
) -> Iterator[str]:
    """Each batch, and with `deep` each record; `bare` leaves the record's own fields out."""
    from penstock.records.batch import iter_headers
    from penstock.records.record import decode_batch

    yield f"Log starting offset: {_base_offset(path)}"
    data = path.read_bytes()[:max_bytes]
    end, last = 0, None
    for position, header in iter_headers(data):
        yield _batch_line(data, position, header)
        end = position + header.size_bytes
        for record in decode_batch(data, position) if deep else ():
            if last is not None and record.offset != last + 1:
                dump.gaps[str(path.absolute())].append((last, record.offset))
            last = record.offset
            yield _record_line(record, header, chosen, bare=bare)
    if len(data) > end and max_bytes == LARGEST_INT:
        yield f"Found {len(data) - end} invalid bytes at the end of {path.name}"


def _batch_line(data: bytes, position: int, header: Any) -> str:
    from penstock.records.batch import compute_crc

    horizon = _optional(header.delete_horizon_ms)
    valid = compute_crc(data, position, header.size_bytes) == header.crc
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.records_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} producerId: "
        f"{header.producer_id} producerEpoch: {header.producer_epoch} partitionLeaderEpoch: "
        f"{header.leader_epoch} isTransactional: {_java(header.is_transactional)} isControl: "
        f"{_java(header.is_control)} deleteHorizonMs: {horizon} position: {position} {_time_type(header)}: "
        f"{header.max_timestamp} size: {header.size_bytes} magic: {header.magic} compresscodec: "
        f"{header.codec.name.lower()} crc: {header.crc} isvalid: {_java(valid)}"
    )


def _record_line(record: Any, header: Any, chosen: Decoder | None, *, bare: bool) -> str:
    line = ""
    if not bare:
        sequence = -1
        if header.base_sequence >= 0:
            sequence = (header.base_sequence + record.offset - header.base_offset) & LARGEST_INT
        names = ",".join(name for name, _ in record.headers)
        line += (
            f"| offset: {record.offset} {_time_type(header)}: {record.timestamp_ms} keySize: "
            f"{_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} headerKeys: [{names}]"
        )
        if header.is_control:
            line += _control(record)
    if chosen is not None and not header.is_control:
        key, value = chosen(record.key, record.value)
        prefix = " " if line else "| "
        line += "" if key is None else f"{prefix}key: {key}"
        line += "" if value is None else f" payload: {value}"
    return line


def _control(record: Any) -> str:
    _, kind = _CONTROL_KEY.unpack_from(record.key)
    if kind in (0, 1):
        (epoch,) = struct.unpack_from(">i", record.value, 2)
        return f" endTxnMarker: {'COMMIT' if kind else 'ABORT'} coordinatorEpoch: {epoch}"
    return f" controlType: {_CONTROL_TYPES.get(kind, 'UNKNOWN')}({kind})"


def index_lines(path: Path, dump: Dump, *, sanity_only: bool) -> Iterator[str]:
    """The entries, each compared with the batch that it points to."""
    from penstock.records.batch import read_header

    base = _base_offset(path)
    log = path.with_suffix(".log").read_bytes()
    data = path.read_bytes()
    if not data:
        yield f"{path} is empty."
        return
    if sanity_only:
        _check_whole(path, data, _INDEX.size)
        yield f"{path} passed sanity check."
        return
    for number, (relative, position) in enumerate(_INDEX.iter_unpack(data[: len(data) // 8 * 8])):
        if relative == 0 and number > 0:
            return
        found = read_header(log, position).last_offset
        if found != base + relative:
            dump.mismatches[str(path.absolute())].append((base + relative, found))
        yield f"offset: {base + relative} position: {position}"


def time_index_lines(path: Path, dump: Dump, *, sanity_only: bool) -> Iterator[str]:
    base, before = _base_offset(path), -1
    data = path.read_bytes()
    if sanity_only:
        _check_whole(path, data, _TIME_INDEX.size)
        yield f"{path} passed sanity check."
        return
    for number, (time_ms, relative) in enumerate(_TIME_INDEX.iter_unpack(data[: len(data) // 12 * 12])):
        if relative == 0 and number > 0:
            return
        if before >= time_ms:
            dump.out_of_order[str(path.absolute())].append((time_ms, before))
        before = time_ms
        yield f"timestamp: {time_ms} offset: {base + relative}"


def snapshot_lines(path: Path) -> Iterator[str]:
    """The producers of a snapshot of their state."""
    from penstock.storage.snapshot_format import decode_snapshot

    try:
        entries = decode_snapshot(path.read_bytes())
    except ValueError as error:
        raise CommandFailed(str(error)) from None
    for one in entries:
        start = None if one.transaction_start_offset < 0 else one.transaction_start_offset
        line = (
            f"producerId: {one.producer_id} producerEpoch: {one.producer_epoch} coordinatorEpoch: "
            f"{one.coordinator_epoch} currentTxnFirstOffset: {_optional(start)} lastTimestamp: "
            f"{one.timestamp} "
        )
        if one.last_offset >= 0:
            first = (one.last_sequence - one.offset_delta) & LARGEST_INT
            line += (
                f"firstSequence: {first} lastSequence: {one.last_sequence} lastOffset: {one.last_offset} "
                f"offsetDelta: {one.offset_delta} timestamp: {one.timestamp}"
            )
        yield line


def aborted_lines(path: Path) -> Iterator[str]:
    from penstock.storage.aborted import AbortedIndex

    try:
        entries = list(AbortedIndex(path.read_bytes()))
    except ValueError as error:
        raise CommandFailed(f"{path}: {error}") from None
    for one in entries:
        yield (
            f"version: 0 producerId: {one.producer_id} firstOffset: {one.first_offset} lastOffset: "
            f"{one.last_offset} lastStableOffset: {one.last_stable_offset}"
        )


def _check_whole(path: Path, data: bytes, size: int) -> None:
    if len(data) % size:
        raise CommandFailed(
            f"Index file {path} is corrupt, found {len(data)} bytes which is neither positive nor a multiple "
            f"of {size}"
        )


def _base_offset(path: Path) -> int:
    text = path.name.partition(".")[0]
    if not text.isdecimal():
        raise CommandFailed(f'For input string: "{text}"')
    return int(text)


def _time_type(header: Any) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _optional(number: int | None) -> str:
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _java(value: bool) -> str:
    return "true" if value else "false"
