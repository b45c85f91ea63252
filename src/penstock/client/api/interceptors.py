"""Interceptors: objects with any of `on_send(record)`, `on_acknowledgement(metadata, error)`,
`on_consume(records)` and `on_commit(offsets)`.

As in Java, an interceptor that fails is logged and passed over: it never breaks a send or a poll.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from penstock.client.api.records import ConsumerRecords, Offsets, ProducerRecord, RecordMetadata

_log = logging.getLogger(__name__)


class Interceptors:
    """All interceptors of one client, called in order."""

    def __init__(self, interceptors: Sequence[Any]) -> None:
        self._all = list(interceptors)
        self._on_send = [each.on_send for each in interceptors if hasattr(each, "on_send")]
        self._on_acknowledgement = [
            each.on_acknowledgement for each in interceptors if hasattr(each, "on_acknowledgement")
        ]
        self._on_consume = [each.on_consume for each in interceptors if hasattr(each, "on_consume")]
        self._on_commit = [each.on_commit for each in interceptors if hasattr(each, "on_commit")]

    @property
    def sees_sends(self) -> bool:
        return bool(self._on_send or self._on_acknowledgement)

    @property
    def sees_acknowledgements(self) -> bool:
        return bool(self._on_acknowledgement)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        for call in self._on_send:
            try:
                record = call(record) or record
            except Exception:
                _log.exception("an interceptor failed in on_send; the record goes on as it was")
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        for call in self._on_acknowledgement:
            try:
                call(metadata, error)
            except Exception:
                _log.exception("an interceptor failed in on_acknowledgement")

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        for call in self._on_consume:
            try:
                given = call(records)
                records = records if given is None else _records(given)
            except Exception:
                _log.exception("an interceptor failed in on_consume; the records go on as they were")
        return records

    def on_commit(self, offsets: Offsets) -> None:
        for call in self._on_commit:
            try:
                call(offsets)
            except Exception:
                _log.exception("an interceptor failed in on_commit")

    def close(self) -> None:
        for each in self._all:
            if hasattr(each, "close"):
                try:
                    each.close()
                except Exception:
                    _log.exception("an interceptor failed in close")


def _records(given: Any) -> ConsumerRecords:
    return given if isinstance(given, ConsumerRecords) else ConsumerRecords(list(given))
