"""`kafka-dump-log` beside Kafka's own, on the files of a broker that runs."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.cli.kafka.dump_log import dump_log
from penstock.cli.kafka.topics import topics
from penstock.storage.disk import OsDisk
from penstock.storage.logs import Logs
from tests.cli.kafka.side_by_side import SideBySide
from tests.storage.builders import NOW_MS, StillClock, append, settings
from tests.storage.transactional import Writer

KAFKAS = "kafka.tools.DumpLogSegments"
FIRST = "00000000000000000000"
SUFFIXES = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}


@pytest.fixture
def dumped(side: SideBySide, command_data: Path) -> Path:
    """The log of a topic with batches of every kind; in another topic, committed offsets."""
    create = (
        "--bootstrap-server SERVERS --create --if-not-exists --topic dumped --config segment.bytes=1048576"
    )
    if "Created" not in side.ours(topics, *create.split(), "--config", "index.interval.bytes=0").out:
        return command_data / "dumped-0"
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": side.servers, "compression.type": codec})
        for number in range(3):
            producer.produce(
                "dumped", f"välue {number} {codec * 50}", key=codec, headers={"h": b"1", "i": None}
            )
        producer.produce("dumped", None, key=codec)
        producer.produce("dumped", b"without a key")
        assert producer.flush(10) == 0
    for commit in (True, False):
        producer = Producer({"bootstrap.servers": side.servers, "transactional.id": "dumping"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("dumped", "in a transaction")
        producer.flush(10)
        (producer.commit_transaction if commit else producer.abort_transaction)(10)
    consumer = Consumer({"bootstrap.servers": side.servers, "group.id": "dumping"})
    consumer.subscribe(["dumped"])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition("dumped", 0, 3)], asynchronous=False)
    consumer.close()
    return command_data / "dumped-0"


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--deep-iteration",
        "--print-data-log",
        "--print-data-log --skip-record-metadata",
        "--print-data-log --max-bytes 500",
        "--key-decoder-class org.apache.kafka.tools.api.StringDecoder",
    ],
)
def test_a_log_is_dumped_as_kafka_does(side: SideBySide, dumped: Path, options: str) -> None:
    ours, kafkas = side.both(dump_log, KAFKAS, f"--files {dumped}/{FIRST}.log {options}")
    assert (ours.code, ours.out) == (kafkas.code, kafkas.out)


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_an_internal_topic_is_decoded_as_kafka_does(
    side: SideBySide, dumped: Path, command_data: Path, topic: str
) -> None:
    option = "--offsets-decoder" if topic == "__consumer_offsets" else "--transaction-log-decoder"
    logs = [path for path in command_data.glob(f"{topic}-*/{FIRST}.log") if path.stat().st_size]
    assert logs
    for log in logs:
        ours, kafkas = side.both(dump_log, KAFKAS, f"{option} --files {log}")
        assert ours.code == kafkas.code == 0
        pairs = list(zip(ours.out.splitlines(), kafkas.out.splitlines(), strict=True))
        assert [pair for pair in pairs if '"base64"' not in pair[0] and pair[0] != pair[1]] == []


def test_indexes_and_snapshots_are_dumped_as_kafka_does(side: SideBySide, tmp_path: Path) -> None:
    logs = Logs(OsDisk(), [str(tmp_path)], StillClock(), random=Random(1))
    small = settings(segment_bytes=3000, index_interval_bytes=300)
    logs.open_directories()
    logs.open_logs(lambda _: small)
    log = logs.create("orders", 0, bytes(range(16)), small)
    for number in range(40):
        append(
            log,
            b"x" * 50,
            producer_id=77,
            producer_epoch=1,
            base_sequence=number,
            timestamp_ms=NOW_MS + number,
        )
    aborted, left_open = Writer(502), Writer(503)
    aborted.write(log, b"aborted")
    left_open.write(log, b"open")
    aborted.end(log, commit=False, coordinator_epoch=9)
    logs.close()
    files = sorted(path for path in (tmp_path / "orders-0").iterdir() if path.suffix in SUFFIXES)
    assert {path.suffix for path in files} == SUFFIXES
    for path in files:
        for option in ("", "--index-sanity-check", "--verify-index-only"):
            ours, kafkas = side.both(dump_log, KAFKAS, f"--files {path} {option}")
            assert (ours.code, ours.out) == (kafkas.code, kafkas.out), (path.name, option)


@pytest.mark.parametrize("line", ["", "--print-data-log", "--files nothing.txt"])
def test_a_mistake_is_answered_as_kafka_answers_it(side: SideBySide, line: str) -> None:
    ours, kafkas = side.both(dump_log, KAFKAS, line)
    assert (ours.code, ours.complaint, ours.out) == (kafkas.code, kafkas.complaint, kafkas.out)


def test_a_decoder_that_there_is_not_is_refused(side: SideBySide) -> None:
    said = side.ours(dump_log, "--files", "a.log", "--cluster-metadata-decoder")
    assert (said.code, said.complaint) == (1, "--cluster-metadata-decoder is not supported yet")
