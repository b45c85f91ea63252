"""Apache Kafka's own dump tool reads what we write: batches in every codec, indexes, markers and aborted
transactions, producer snapshots."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from penstock.records.codecs import Codec
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from tests.peers.java_programs import JavaPrograms
from tests.storage.builders import NOW_MS, StillClock, append, settings
from tests.storage.transactional import Writer

BATCHES = 40
SMALL = settings(segment_bytes=3000, index_interval_bytes=300)


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory, java_programs: JavaPrograms) -> str:
    """What the tool says of a log with two segments."""
    data = tmp_path_factory.mktemp("data")
    logs = Logs(OsDisk(), [str(data)], StillClock(), random=Random(1))
    logs.open_directories()
    logs.open_logs(lambda _: SMALL)
    log = logs.create("orders", 0, bytes(range(16)), SMALL)
    for number in range(BATCHES):
        producer = {"producer_id": 77, "producer_epoch": 1, "base_sequence": 2 * number}
        value, codec = b"value %d " % number + b"x" * 50, Codec(number % len(Codec))
        append(
            log,
            value,
            b"b",
            leader_epoch=number // 15,
            timestamp_ms=NOW_MS + number * 10,
            codec=codec,
            **producer,
        )
    write_transactions(log)
    logs.close()
    return _dump(java_programs, data / "orders-0")


def write_transactions(log: Log) -> None:
    """One that is committed, one aborted, one left open."""
    committed, aborted, left_open = Writer(501, epoch=3), Writer(502), Writer(503)
    committed.write(log, b"committed")
    aborted.write(log, b"aborted")
    left_open.write(log, b"open")
    committed.end(log, commit=True, coordinator_epoch=8, version=2)
    aborted.end(log, commit=False, coordinator_epoch=9)


def _dump(programs: JavaPrograms, directory: Path) -> str:
    suffixes = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
    files = ",".join(sorted(str(path) for path in directory.iterdir() if path.suffix in suffixes))
    options = ("--deep-iteration", "--print-data-log", "--verify-index-only", "--files", files)
    return programs.run("kafka.tools.DumpLogSegments", *options)


def test_every_record_is_read_in_every_codec(dumped: str) -> None:
    for number in range(BATCHES):
        assert f"payload: value {number} " in dumped
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        assert f"compresscodec: {codec} " in dumped
    assert "isvalid: false" not in dumped


def test_offsets_epochs_and_sequences_are_ours(dumped: str) -> None:
    batches = re.findall(
        r"^baseOffset: (\d+) .* baseSequence: (\d+) .* partitionLeaderEpoch: (\d+) ", dumped, re.MULTILINE
    )
    found = [tuple(map(int, batch)) for batch in batches[:BATCHES]]
    assert found == [(2 * number, 2 * number, number // 15) for number in range(BATCHES)]


def test_the_indexes_agree_with_the_log(dumped: str) -> None:
    assert dumped.count(".timeindex") >= 2
    assert "mismatch" not in dumped.lower()
    assert "non-consecutive" not in dumped.lower()


def test_snapshots_of_the_producers_are_read(dumped: str) -> None:
    snapshots = re.findall(
        r"^producerId: 77 producerEpoch: 1 .* lastSequence: (\d+) lastOffset: (\d+) ", dumped, re.M
    )
    assert snapshots[-1] == ("79", "79")


def test_markers_and_aborted_transactions_are_read(dumped: str) -> None:
    first = 2 * BATCHES
    assert re.findall(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", dumped) == [
        ("COMMIT", "8"),
        ("ABORT", "9"),
    ]
    (aborted,) = re.findall(
        r"producerId: 502 firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", dumped
    )
    assert tuple(map(int, aborted)) == (first + 1, first + 4, first + 2)


def test_snapshots_tell_who_has_a_transaction_open(dumped: str) -> None:
    found = dict(
        re.findall(
            r"producerId: (50\d) producerEpoch: \d+ coordinatorEpoch: -?\d+ currentTxnFirstOffset: (\S+) ",
            dumped,
        )
    )
    nothing, first = "OptionalLong.empty", f"OptionalLong[{2 * BATCHES + 2}]"
    assert found == {"501": nothing, "502": nothing, "503": first}
