"""Exactly once into a relational database: offsets stand beside the rows, in one transaction of the database.

    pip install 'psycopg[binary]'
    python examples/client/to_database.py SERVERS "host=… dbname=…" [TOPIC]

Kafka's own offsets are not used. When partitions are assigned, the reader seeks to the offsets that the
database has. Rows and the next offset are written in one transaction. A crash at any point leaves both or
neither, so no row is missing and none is there twice. A reader that was slow and lost its partition finds
that the offset has moved on, and gives its transaction up.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import psycopg

from penstock.client import Consumer, ConsumerRecord, RebalanceListener, TopicPartition

TABLES = """
CREATE TABLE IF NOT EXISTS payments (id bigint, amount bigint NOT NULL, topic_offset text NOT NULL);
CREATE TABLE IF NOT EXISTS offsets (
    topic text, partition int, next_offset bigint NOT NULL, PRIMARY KEY (topic, partition));
"""


class OffsetMoved(Exception):
    """Another reader has written these records already."""


class SeekToStored(RebalanceListener):
    """Begins where the database says, not where the group committed."""

    def __init__(self, consumer: Consumer, database: psycopg.Connection[Any]) -> None:
        self._consumer, self._database = consumer, database

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._consumer.seek(partition, next_offset(self._database, partition))


def next_offset(database: psycopg.Connection[Any], partition: TopicPartition) -> int:
    with database.transaction():
        row = database.execute(
            "SELECT next_offset FROM offsets WHERE topic = %s AND partition = %s",
            (partition.topic, partition.partition),
        ).fetchone()
    return int(row[0]) if row else 0


def store(database: psycopg.Connection[Any], records: list[ConsumerRecord]) -> None:
    """The rows of one partition and where to go on, both or neither. The database must be exactly where the
    records begin, and no offset may be missing: the topic is neither compacted nor transactional."""
    first, last = records[0], records[-1]
    where = (first.topic, first.partition)
    with database.transaction():
        database.execute("INSERT INTO offsets VALUES (%s, %s, 0) ON CONFLICT DO NOTHING", where)
        held = database.execute(
            "SELECT next_offset FROM offsets WHERE topic = %s AND partition = %s FOR UPDATE", where
        ).fetchone()
        assert held is not None
        if held[0] != first.offset or last.offset - first.offset + 1 != len(records):
            raise OffsetMoved(f"{first.topic}-{first.partition} is at {held[0]}, not at {first.offset}")
        for record in records:
            payment = json.loads(record.value)
            place = f"{record.partition}-{record.offset}"
            row = (payment["id"], payment["amount"], place)
            database.execute("INSERT INTO payments VALUES (%s, %s, %s)", row)
        database.execute(
            "UPDATE offsets SET next_offset = %s WHERE topic = %s AND partition = %s",
            (last.offset + 1, *where),
        )


def run(servers: str, dsn: str, topic: str) -> None:
    settings = {
        "bootstrap.servers": servers,
        "group.id": f"{topic}-to-database",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "max.poll.records": 50,
        "session.timeout.ms": 6000,
    }
    with psycopg.connect(dsn, autocommit=True) as database, Consumer(settings) as consumer:
        database.execute(TABLES)
        consumer.subscribe([topic], SeekToStored(consumer, database))
        print("ready", flush=True)
        while True:
            records = consumer.poll(1)
            for partition in records.partitions():
                try:
                    store(database, records.records(partition))
                except OffsetMoved:
                    if partition in consumer.assignment():
                        consumer.seek(partition, next_offset(database, partition))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "payments")
