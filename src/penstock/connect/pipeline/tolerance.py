"""Records that fail: tried again, passed over, logged, or sent to a dead-letter topic."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple, Self, TypeVar

from penstock.clock import SystemClock
from penstock.connect.config import shared_settings as c
from penstock.connect.errors import ConfigError, ConnectError, DataError, RetriableError

FIRST_DELAY_MS: Final = 300
PREFIX: Final = "__connect.errors."
_JAVA: Final = (
    (DataError, "org.apache.kafka.connect.errors.DataException"),
    (RetriableError, "org.apache.kafka.connect.errors.RetriableException"),
    (ConfigError, "org.apache.kafka.common.config.ConfigException"),
    (ConnectError, "org.apache.kafka.connect.errors.ConnectException"),
)
_NEVER: Final = threading.Event()  # waiting for it is sleeping
log = logging.getLogger(__name__)

T = TypeVar("T")


class Stage(Enum):
    """Where a record failed."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"


class RecordFailed(ConnectError):
    """A record could not be processed; `__cause__` is why."""

    def __init__(self, stage: Stage, class_name: str, error: Exception) -> None:
        super().__init__(f"Error encountered in {stage.value} ({class_name}): {error}")
        self.stage, self.class_name, self.error = stage, class_name, error


@dataclass(frozen=True)
class Tolerance:
    """What a connector's settings say about errors."""

    passes_over: bool
    retry_timeout_ms: int
    retry_delay_max_ms: int
    logs: bool
    logs_place: bool
    dead_letters: str
    with_headers: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        given = {
            key.name: key.parse(config)
            for key in (*c.common("", "", "", ""), *c.DEAD_LETTER_KEYS)
            if key.name.startswith("errors.")
        }
        return cls(
            given[c.TOLERANCE] == "all",
            given["errors.retry.timeout"],
            given["errors.retry.delay.max.ms"],
            given["errors.log.enable"],
            given["errors.log.include.messages"],
            given[c.DEAD_LETTERS],
            given["errors.deadletterqueue.context.headers.enable"],
        )

    def attempt(
        self,
        stage: Stage,
        class_name: str,
        operation: Callable[[], T],
        *,
        now: Callable[[], float] = SystemClock.monotonic,
        sleep: Callable[[float], object] = _NEVER.wait,
    ) -> T:
        """The result; RecordFailed when it cannot be had, for passing reasons after the retry timeout."""
        began, delay_ms = now(), FIRST_DELAY_MS
        while True:
            try:
                return operation()
            except RetriableError as error:
                spent_ms = (now() - began) * 1000
                if 0 <= self.retry_timeout_ms <= spent_ms + delay_ms:
                    raise RecordFailed(stage, class_name, error) from error
                sleep(min(delay_ms, self.retry_delay_max_ms) / 1000)
                delay_ms *= 2
            except (ConnectError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
                raise RecordFailed(stage, class_name, error) from error


class Context(NamedTuple):
    """Where a failed record came from. A source's record has no topic to read it from again."""

    connector: str
    task: int
    topic: str = ""
    partition: int | None = None
    offset: int | None = None


def error_headers(failed: RecordFailed, context: Context) -> list[tuple[str, bytes]]:
    """Kafka's headers of a dead letter."""
    error = failed.error
    trace = "".join(traceback.format_exception(error))
    texts = {
        "topic": context.topic or None,
        "partition": context.partition,
        "offset": context.offset,
        "connector.name": context.connector,
        "task.id": context.task,
        "stage": failed.stage.value,
        "class.name": failed.class_name,
        "exception.class.name": exception_name(error),
        "exception.message": str(error),
        "exception.stacktrace": trace,
    }
    return [(PREFIX + name, str(value).encode()) for name, value in texts.items() if value is not None]


def exception_name(error: BaseException) -> str:
    """Kafka's name of an exception where it has one."""
    for kind, name in _JAVA:
        if isinstance(error, kind):
            return name
    return f"{type(error).__module__}.{type(error).__qualname__}"


def log_failure(tolerance: Tolerance, failed: RecordFailed, context: Context) -> bool:
    """Whether the settings ask for it."""
    if not tolerance.logs:
        return False
    place = ""
    if tolerance.logs_place:
        place = f", where the record is from {context.topic}-{context.partition} offset {context.offset}"
    log.error(
        "connector %s, task %d: %s failed in %s%s: %s", context.connector, context.task, failed.stage.value,
        failed.class_name, place, failed.error,
    )  # fmt: skip
    return True
