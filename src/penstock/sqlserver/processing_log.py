"""The processing log of a server: its topic, and the entries of queries that run in the server's process.

Entries of persistent queries are written by Spark with their results (`query_log.py`).
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Final

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, TopicExists
from penstock.client.librdkafka import Connection
from penstock.client.sending import NewRecord, Sender
from penstock.expressions.environment import ExpressionFailure
from penstock.kernels.serdes import SerdeError
from penstock.plan.failures import Failure
from penstock.plan.handlers import Handlers
from penstock.plan.raw_records import Produced, RawRecord
from penstock.sqlserver.query_log import QueryLog
from penstock.sqlserver.settings import ServerSettings

log = logging.getLogger(__name__)
TIMEOUT_S: Final = 30.0


class ProcessingLog:
    def __init__(self, settings: ServerSettings, admin: Admin) -> None:
        self._settings, self._admin = settings, admin
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        self.enabled = False
        """Whether there is a topic to write to."""

    def start(self) -> None:
        topic = self._settings.processing_log_topic
        self.enabled = any(each.name == topic for each in self._admin.describe()[1])
        if self.enabled or not self._settings.flag("ksql.logging.processing.topic.auto.create"):
            return
        self.enabled = True
        partitions = self._settings.number("ksql.logging.processing.topic.partitions")
        replicas = self._settings.number("ksql.logging.processing.topic.replication.factor")
        with suppress(TopicExists):
            self._admin.create_topic(topic, partitions, replicas)

    def close(self) -> None:
        with suppress(ClientError), self._lock:
            if self._sender is not None:
                self._sender.flush()

    def of(self, query_id: str) -> QueryLog:
        """What a query reports with; it may travel."""
        topic = self._settings.processing_log_topic if self.enabled else None
        return QueryLog(query_id, topic, self._settings.flag("ksql.logging.processing.rows.include"))

    def handlers(self, query_id: str) -> Handlers:
        """For a query in this process: entries are written at once."""
        entries = self.of(query_id)

        def unreadable(record: RawRecord, error: SerdeError) -> None:
            self._write(entries.unreadable(record, error))

        def failed(failure: Failure) -> None:
            self._write(entries.failed(failure))

        def expression(node: str, failure: ExpressionFailure) -> None:
            self._write(entries.expression(node, failure))

        return Handlers(unreadable, failed, expression)

    def _write(self, entry: Produced | None) -> None:
        """Without waiting: a log must not hold up a query."""
        if entry is None:
            return
        try:
            with self._lock:
                if self._sender is None:
                    connection = Connection(
                        self._settings.bootstrap_servers, TIMEOUT_S, self._settings.client
                    )
                    self._sender = Sender(connection, linger_ms=100)
                self._sender.send(entry.topic, NewRecord(entry.value))
        except ClientError as error:
            log.warning("the processing log cannot be written: %s", error)
            self._sender = None
