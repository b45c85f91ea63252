"""INSERT INTO … VALUES and /inserts-stream: rows become records of a source's topic."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from random import SystemRandom
from typing import Any, Final

from penstock.client.direct import cluster_of
from penstock.client.errors import BrokerRefused
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord as Record
from penstock.client.sending import Produced, Sender
from penstock.kernels.serdes import to_bytes
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record as StoredRecord
from penstock.sql.insert_values import NewRecord
from penstock.sql.lowering.graph import SerdeOf
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.json_reading import reader
from penstock.sql.sources import DataSource
from penstock.sqlserver.errors import KsqlError
from penstock.sqlserver.settings import ServerSettings
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.pack import pack_records
from penstock.wire.partitioner import partition_for_key
from penstock.wire.produce import Producer

TIMEOUT_S: Final = 30.0


class Inserter:
    """One producer for all requests. A call returns when the brokers have the record."""

    def __init__(self, settings: ServerSettings, serde_of: SerdeOf) -> None:
        self._settings, self._serde_of = settings, serde_of
        self._lock = threading.Lock()
        self._sender: Sender | None = None

    def insert(self, record: NewRecord) -> None:
        source, schema = record.source, record.source.schema
        key_serde = self._serde_of(schema.key_format, schema.key, True)
        value_serde = self._serde_of(schema.value_format, source.stored, False)
        key = to_bytes(key_serde, source.topic, record.key)
        value = to_bytes(value_serde, source.topic, record.value)
        if record.timestamp == 0:  # which librdkafka takes for "now"
            self._send_at_zero(source.topic, key, value)
        else:
            self._send(source.topic, Record(value, key, timestamp_ms=record.timestamp))

    def _send_at_zero(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """A record of the first millisecond of 1970, which tests and examples like to have."""
        cluster = cluster_of(Connection(self._settings.bootstrap_servers, TIMEOUT_S, self._settings.client))
        try:
            count = len(cluster.topic(topic, Deadline(TIMEOUT_S)).partitions)
            number = partition_for_key(key, count) if key is not None else SystemRandom().randrange(count)
            producer = Producer(cluster)
            producer.send(TopicPartition(topic, number), pack_records([StoredRecord(key, value, (), 0)]))
            producer.flush()
        except WireError as error:
            raise BrokerRefused(f"Could not write to topic {topic!r}: {error}.", "") from error
        finally:
            cluster.close()

    def _send(self, topic: str, record: Record) -> None:
        done: list[Produced] = []
        with self._lock:
            if self._sender is None:
                connection = Connection(self._settings.bootstrap_servers, TIMEOUT_S, self._settings.client)
                self._sender = Sender(connection, linger_ms=0)
            try:
                self._sender.send(topic, record, done.append)
                self._sender.flush()
            except BaseException:
                self._sender = None  # a producer may be broken for good
                raise


def row_of_json(source: DataSource, given: Mapping[str, Any], now_ms: int) -> NewRecord:
    """A record from a JSON object: fields by the names of columns, in any case."""
    kinds = {column.name: column.type for column in source.schema.columns}
    row: dict[str, Any] = {}
    for name, value in given.items():
        column = name[1:-1] if name[:1] == "`" == name[-1:] else name if name in kinds else name.upper()
        if column == "ROWTIME":
            now_ms = int(value)
            continue
        if column not in kinds:
            raise KsqlError(f"Key or value column {name} is not in the schema of {source.name}")
        try:
            row[column] = reader(kinds[column])(value, f"$.{name}")
        except FormatError as error:
            raise KsqlError(f"Can't coerce a field of the value: {error}") from error
    keys = {column.name: row.get(column.name) for column in source.schema.key}
    missing = [name for name, value in keys.items() if value is None]
    if source.kind == "TABLE" and missing:
        raise KsqlError(f"Key field must be specified: {', '.join(missing)}")
    key: Any = next(iter(keys.values()), None) if len(keys) <= 1 else keys
    return NewRecord(source, key, {column.name: row.get(column.name) for column in source.stored}, now_ms)
