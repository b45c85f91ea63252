"""What a query reports to the processing log: entries of ksqlDB's form, as records of the log's topic.

A `QueryLog` is a value that travels to Spark's workers. Its methods are the handlers of a task, and the
records that they give are written with the results of the batch, so an entry is there once, too.
"""

from __future__ import annotations

import json
import logging
import time
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, Final

from penstock.expressions.environment import ExpressionFailure
from penstock.kernels.serdes import SerdeError
from penstock.plan.failures import Failure
from penstock.plan.handlers import Handlers
from penstock.plan.raw_records import Produced, RawRecord

log = logging.getLogger(__name__)
DESERIALIZATION, PROCESSING, SERIALIZATION = 0, 1, 3
LONGEST: Final = 10_000
"""Characters of a message, or of a row that is included."""
_KINDS: Final = {
    DESERIALIZATION: "deserializationError",
    PROCESSING: "recordProcessingError",
    2: "productionError",
    SERIALIZATION: "serializationError",
    4: "kafkaStreamsThreadError",
}


@dataclass(frozen=True)
class QueryLog:
    query_id: str
    topic: str | None
    """None: there is no topic, and entries go to the log of the process."""
    rows: bool = False
    """Whether entries hold the row that failed."""

    @property
    def handlers(self) -> Handlers:
        return Handlers(self.unreadable, self.failed, self.expression)

    def unreadable(self, record: RawRecord, error: SerdeError) -> Produced | None:
        reason = str(error)
        is_key = "deserialize key" in reason
        data = record.key if is_key else record.value
        body = {
            "target": "key" if is_key else "value",
            "errorMessage": reason[:LONGEST],
            "recordB64": b64encode(data or b"").decode() if self.rows else None,
            "cause": [str(error.__cause__ or error)[:LONGEST]],
            "topic": record.topic,
        }
        return self._entry("KafkaTopic_Left.Source.deserializer", DESERIALIZATION, body)

    def failed(self, failure: Failure) -> Produced | None:
        if isinstance(failure.error, SerdeError) and failure.raw is not None:
            if "Failed to serialize" in str(failure.error):
                return self._entry(f"{failure.node}.serializer", SERIALIZATION, self._unwritable(failure))
            return self.unreadable(failure.raw, failure.error)
        message = " ".join(str(failure.error).split())
        return self._processing(failure.node, f"{type(failure.error).__name__}: {message}", None)

    def _unwritable(self, failure: Failure) -> dict[str, Any]:
        reason = str(failure.error)
        return {
            "target": "key" if "serialize key" in reason else "value",
            "errorMessage": reason[:LONGEST],
            "record": None,
            "cause": [str(failure.error.__cause__ or reason)[:LONGEST]],
            "topic": failure.topic,
        }

    def expression(self, node: str, failure: ExpressionFailure) -> Produced | None:
        message = f"Error computing expression {failure.where}: {failure.message}"
        return self._processing(node, message, failure.row if self.rows else None)

    def _processing(self, node: str, message: str, row: Any) -> Produced | None:
        shown = None if row is None else json.dumps(row, default=str)[:LONGEST]
        body = {"errorMessage": message[:LONGEST], "record": shown, "cause": [message[:LONGEST]]}
        return self._entry(node, PROCESSING, body)

    def _entry(self, step: str, kind: int, body: dict[str, Any]) -> Produced | None:
        entry = {
            "level": "ERROR",
            "logger": f"processing.{self.query_id}.{step.replace('-', '.')}",
            "time": time.time_ns() // 1_000_000,
            "message": {"type": kind, **dict.fromkeys(_KINDS.values()), _KINDS[kind]: body},
        }
        if self.topic is None:
            log.warning("%s: %s", entry["logger"], body["errorMessage"])
            return None
        return Produced(self.topic, None, json.dumps(entry).encode(), entry["time"])  # type: ignore[arg-type]


def processing_log_statement(stream: str, topic: str) -> str:
    """The stream over the log's topic, with ksqlDB's columns."""
    causes = "cause ARRAY<STRING>"
    return (
        f"CREATE STREAM IF NOT EXISTS `{stream}` (logger STRING, level STRING, `TIME` BIGINT, message STRUCT<"
        f"type INT, deserializationError STRUCT<target STRING, errorMessage STRING, recordB64 STRING, "
        f"{causes}, `TOPIC` STRING>, "
        f"recordProcessingError STRUCT<errorMessage STRING, record STRING, {causes}>, "
        f"productionError STRUCT<errorMessage STRING>, serializationError STRUCT<target STRING, "
        f"errorMessage STRING, record STRING, {causes}, `TOPIC` STRING>, "
        f"kafkaStreamsThreadError STRUCT<errorMessage STRING, threadName STRING, {causes}>>) "
        f"WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON');"
    )
