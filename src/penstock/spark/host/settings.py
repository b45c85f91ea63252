"""The settings of an application, under the names of Kafka Streams where it has them, read once and
checked."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from penstock.plan.failures import FailureLetters, OnFailure, fail_processing, skip_processing
from penstock.plan.handlers import Handlers
from penstock.plan.raw_records import DeadLetters, OnBadRecord, fail, skip
from penstock.plan.task import OnExpressionFailure, ignore_failure
from penstock.security.client_settings import ClientSettings
from penstock.spark.host.origins import ORIGIN
from penstock.spark.options import client_settings
from penstock.spark.transactional import TRANSACTION_TIMEOUT_MS

log = logging.getLogger(__name__)

EXACTLY_ONCE: Final = "exactly_once_v2"
AT_LEAST_ONCE: Final = "at_least_once"
MOST_OFFSETS: Final = 500_000
_HANDLERS: Final[Mapping[str, OnBadRecord]] = {
    "fail": fail,
    "skip": skip,
    "org.apache.kafka.streams.errors.LogAndFailExceptionHandler": fail,
    "org.apache.kafka.streams.errors.LogAndContinueExceptionHandler": skip,
}
_CONTINUE: Final[Mapping[str, bool]] = {
    "fail": False,
    "skip": True,
    "org.apache.kafka.streams.errors.LogAndFailProcessingExceptionHandler": False,
    "org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler": True,
}
_CACHE: Final = ("statestore.cache.max.bytes", "cache.max.bytes.buffering")
_KNOWN: Final = {
    *(
        "processing.guarantee",
        "auto.offset.reset",
        "replication.factor",
        "state.dir",
        "transaction.timeout.ms",
    ),
    *("session.timeout.ms", "heartbeat.interval.ms", "max.offsets.per.trigger", "emit.every.update"),
    *("deserialization.exception.handler", "processing.exception.handler"),
    *("errors.dead.letter.queue.topic.name", "compression.type", ORIGIN, "metrics.listener"),
    *_CACHE,
}
_SECURITY: Final = ("security.", "ssl.", "sasl.")
"""How settings begin that every client of an application needs: they are Kafka's own."""


class SettingError(ValueError):
    """A setting that cannot be taken; the message says which, and what to write instead."""


@dataclass(frozen=True)
class HostSettings:
    exactly_once: bool
    reset: str
    """Where a topic without a committed offset begins: earliest, latest or none."""
    replication_factor: int | None
    state_dir: Path
    transaction_timeout_ms: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_offsets_per_trigger: int
    """The bound of a batch, and so of the memory of a task."""
    emit_every_update: bool
    on_bad_record: OnBadRecord
    on_failure: OnFailure
    compression: str
    on_expression_failure: OnExpressionFailure = ignore_failure
    writes_origin: bool = False
    """Whether records name the record that they were made from (`origins.py`)."""
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How the brokers are reached, under Kafka's names."""

    @property
    def options(self) -> dict[str, str]:
        """The same as options of the Spark source and sink."""
        return {f"kafka.{name}": value for name, value in self.security.items()}

    def client(self, bootstrap_servers: str, client_id: str) -> ClientSettings:
        """The same for our own connections."""
        return client_settings(
            {**self.options, "kafka.bootstrap.servers": bootstrap_servers, "kafka.client.id": client_id}
        )


def with_handlers(settings: HostSettings, handlers: Handlers | None) -> HostSettings:
    if handlers is None:
        return settings
    return replace(
        settings,
        on_bad_record=handlers.on_bad_record,
        on_failure=handlers.on_failure,
        on_expression_failure=handlers.on_expression_failure,
    )


def host_settings(given: Mapping[str, str], state_dir: str | Path | None = None) -> HostSettings:
    security = {name: str(value) for name, value in given.items() if name.startswith(_SECURITY)}
    for name in given.keys() - _KNOWN - security.keys():
        log.warning("setting %s means nothing here and is left aside", name)
    guarantee = _one_of(given, "processing.guarantee", (EXACTLY_ONCE, AT_LEAST_ONCE))
    default = given.get("state.dir") or str(Path(tempfile.gettempdir()) / "penstock-streams")
    replication = _number(given, "replication.factor", -1, -1)
    session_ms = _number(given, "session.timeout.ms", 45_000, 1)
    return HostSettings(
        exactly_once=guarantee == EXACTLY_ONCE,
        reset=_one_of(given, "auto.offset.reset", ("earliest", "latest", "none")),
        replication_factor=None if replication == -1 else replication,
        state_dir=Path(state_dir or default),
        transaction_timeout_ms=_number(given, "transaction.timeout.ms", TRANSACTION_TIMEOUT_MS, 1),
        session_timeout_ms=session_ms,
        heartbeat_interval_ms=_number(given, "heartbeat.interval.ms", min(3_000, session_ms // 3), 1),
        max_offsets_per_trigger=_number(given, "max.offsets.per.trigger", MOST_OFFSETS, 1),
        emit_every_update=_one_of(given, "emit.every.update", ("false", "true")) == "true"
        or any(given.get(name) == "0" for name in _CACHE),
        on_bad_record=_on_bad_record(given),
        on_failure=_on_failure(given),
        compression=given.get("compression.type", "none"),
        writes_origin=_one_of(given, ORIGIN, ("false", "true")) == "true",
        security=security,
    )


def _on_bad_record(given: Mapping[str, str]) -> OnBadRecord:
    letters = given.get("errors.dead.letter.queue.topic.name")
    if letters:
        return DeadLetters(letters)
    name = given.get("deserialization.exception.handler", "fail")
    if name not in _HANDLERS:
        raise SettingError(f"deserialization.exception.handler is fail or skip, not {name!r}")
    return _HANDLERS[name]


def _on_failure(given: Mapping[str, str]) -> OnFailure:
    name = given.get("processing.exception.handler", "fail")
    if name not in _CONTINUE:
        raise SettingError(f"processing.exception.handler is fail or skip, not {name!r}")
    if not _CONTINUE[name]:
        return fail_processing
    letters = given.get("errors.dead.letter.queue.topic.name")
    return FailureLetters(letters) if letters else skip_processing


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """The first is the default."""
    value = str(given.get(name, allowed[0])).lower()
    if value not in allowed:
        raise SettingError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
    return value


def _number(given: Mapping[str, str], name: str, default: int, least: int) -> int:
    try:
        value = int(given.get(name, default))
    except ValueError:
        raise SettingError(f"{name} is a whole number, not {given[name]!r}") from None
    if value < least:
        raise SettingError(f"{name} is at least {least}, not {value}")
    return value
