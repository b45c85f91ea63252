"""How many records each query has skipped: the entries of the processing log's topic, counted.

The topic is read from its start, so a count holds what every server has written, for as long as the topic
keeps it. Without a topic nothing is known.
"""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass
from typing import Any, Final

from penstock.client.admin import Admin
from penstock.client.errors import ClientError
from penstock.client.librdkafka import Connection
from penstock.sqlserver.settings import ServerSettings
from penstock.sqlserver.topic_reading import TopicReader, starting_offsets

log = logging.getLogger(__name__)
POLL_S: Final = 0.5
PAUSE_S: Final = 5.0
CONNECT_S: Final = 30.0
LONGEST: Final = 300
"""Characters of a message."""
_SKIPPING: Final = ("deserializationError", "serializationError", "productionError")
"""Kinds of entries that stand for a record; an expression that fails gives null, and its record lives on."""


@dataclass(frozen=True)
class Skipped:
    records: int = 0
    failures: int = 0
    """Of expressions."""
    last: str = ""

    def with_entry(self, message: dict[str, Any]) -> Skipped:
        kind = next((name for name in _SKIPPING if message.get(name)), None)
        body = message.get(kind or "recordProcessingError") or {}
        last = str(body.get("errorMessage") or "")[:LONGEST]
        return Skipped(self.records + (kind is not None), self.failures + (kind is None), last)


class SkippedRecords:
    def __init__(self, settings: ServerSettings, admin: Admin) -> None:
        self._settings, self._admin = settings, admin
        self._found: dict[str, Skipped] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="count-skipped", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def of(self, query_id: str) -> dict[str, Any] | None:
        """None where there is no topic to count."""
        if self._thread is None:
            return None
        found = self._found.get(query_id, Skipped())
        return {
            "skippedRecords": found.records,
            "failedExpressions": found.failures,
            "lastMessage": found.last,
        }

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._count()
            except ClientError as error:
                log.warning("the processing log cannot be read: %s", error)
                self._closing.wait(PAUSE_S)

    def _count(self) -> None:
        """From the start, until the server ends or the topic cannot be read."""
        found: dict[str, Skipped] = {}
        starts = starting_offsets(self._admin, (self._settings.processing_log_topic,), "earliest")
        connection = Connection(self._settings.bootstrap_servers, CONNECT_S, self._settings.client)
        with TopicReader(connection, starts) as reader:
            while not self._closing.is_set():
                for record in reader.poll(POLL_S):
                    _add(found, record.value)
                if reader.at_end:
                    self._found = found


def _add(found: dict[str, Skipped], value: bytes | None) -> None:
    try:
        entry = json.loads(value or b"")
        query_id = entry["logger"].split(".")[1]
        found[query_id] = found.get(query_id, Skipped()).with_entry(entry["message"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return  # not an entry of ours
