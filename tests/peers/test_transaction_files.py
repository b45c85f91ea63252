"""Files of transactions that Apache Kafka wrote: we find in its log what it found, byte for byte."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.storage.aborted import AbortedIndex
from penstock.storage.disk import OsDisk
from penstock.storage.log import Log
from penstock.storage.snapshot_format import decode_snapshot, encode_snapshot
from tests.peers.apache_kafka import ApacheKafka, apache_kafka  # noqa: F401 (a fixture)
from tests.storage.builders import StillClock, settings
from tests.storage.transactional import committed

TOPIC = "transaction-files"
VALUE_BYTES = 100_000
TRANSACTIONS = 24
SECONDS = 30.0


def write(servers: str) -> list[bytes]:
    """Transactions of two producers over several segments; the values that count."""
    admin = AdminClient({"bootstrap.servers": servers})
    config = {"segment.bytes": "1048576"}
    admin.create_topics([NewTopic(TOPIC, 1, config=config)])[TOPIC].result(SECONDS)
    producers = [
        Producer({"bootstrap.servers": servers, "transactional.id": f"{TOPIC}-{number}"})
        for number in range(2)
    ]
    for producer in producers:
        producer.init_transactions(SECONDS)
    kept = []
    for number in range(TRANSACTIONS):
        producer, value = producers[number % 2], b"%d " % number + bytes(VALUE_BYTES)
        producer.begin_transaction()
        producer.produce(TOPIC, value, partition=0)
        producer.flush(SECONDS)
        if number % 3:
            producer.commit_transaction(SECONDS)
            kept.append(value)
        else:
            producer.abort_transaction(SECONDS)
    for number in range(2):  # returns when the marker of the last transaction is in the log
        Producer({"bootstrap.servers": servers, "transactional.id": f"{TOPIC}-{number}"}).init_transactions(
            SECONDS
        )
    return kept


def test_our_indexes_of_its_log_are_its_own(apache_kafka: ApacheKafka, tmp_path: Path) -> None:  # noqa: F811
    kept = write(apache_kafka.bootstrap_servers)
    theirs, ours = apache_kafka.data / f"{TOPIC}-0", tmp_path / f"{TOPIC}-0"
    indexes = b"".join(path.read_bytes() for path in sorted(theirs.glob("*.txnindex")))
    ours.mkdir()
    for path in theirs.glob("*.log"):
        shutil.copy(path, ours)
    log = Log.open(
        OsDisk(), str(ours), settings(segment_bytes=1 << 20), StillClock(), clean=False, random=Random(1)
    )
    assert len(log.sealed_segments()) >= 2
    found = AbortedIndex()
    for aborted in log.aborted_between(0, log.log_end_offset):
        found.append(aborted)
    assert found.to_bytes() == indexes
    assert len(found) == TRANSACTIONS // 3
    assert committed(log) == kept


def test_its_snapshots_are_read_and_written_as_they_are(apache_kafka: ApacheKafka) -> None:  # noqa: F811
    paths = sorted((apache_kafka.data / f"{TOPIC}-0").glob("*.snapshot"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        assert encode_snapshot(decode_snapshot(data)) == data
