"""The Processor API: a user's class as a node, with stores and punctuators, which sends records on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Operation
from penstock.kernels.record import Metadata, Record
from penstock.kernels.windows import Duration, millis


class PunctuationType(Enum):
    STREAM_TIME = "stream_time"  # advances with the records' times
    WALL_CLOCK_TIME = "wall_clock_time"  # advances with the clock, also when nothing arrives


Cancel = Callable[[], None]


class ProcessorContext:
    """What a processor may do."""

    def __init__(self, context: Context, *, fixed_key: bool = False) -> None:
        self._context, self._task, self._fixed_key = context, context.task, fixed_key
        self._key: Any = None  # of the record being processed, where keys may not change

    def forward(self, record: Record, to: str | None = None) -> None:
        """Send a record to all children, or to the one that is named."""
        if self._fixed_key and record.key is not self._key and record.key != self._key:
            raise ValueError(f"{self._context.name} may not change the key {self._key!r} into {record.key!r}")
        self._context.forward(record, to)

    def store(self, name: str) -> Any:
        """A state store by name, if the node was connected with it."""
        try:
            return self._context.stores[name]
        except KeyError:
            known = sorted(self._context.stores)
            raise KeyError(
                f"{self._context.name} has no store {name}; it is connected with {known}"
            ) from None

    def schedule(self, interval: Duration, kind: PunctuationType, callback: Callable[[int], None]) -> Cancel:
        """Call `callback(time)` every `interval`; the answer cancels it."""
        if millis(interval) < 1:
            raise ValueError(f"a punctuator's interval must be at least 1 ms, not {interval}")
        assert self._context.schedule is not None
        return self._context.schedule(millis(interval), kind.value, callback)

    def commit(self) -> None:
        """Ask for a commit soon; results are committed with the step in any case."""
        self._task.commit_requested = True

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> str:
        return self._task.task_id

    @property
    def current_stream_time_ms(self) -> int:
        return self._task.stream_time

    @property
    def current_system_time_ms(self) -> int:
        return self._task.now_ms

    @property
    def record_metadata(self) -> Metadata | None:
        """Topic, partition and offset; none in a wall-clock punctuator."""
        return self._task.metadata


class Processor:
    """Subclass it: `init` once for each task, `process` for each record, `close` at the end."""

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what `init` took."""


@dataclass(frozen=True)
class UserProcessor(Operation):
    supplier: Callable[[], Processor]
    stores: tuple[str, ...] = ()
    fixed_key: bool = False

    def own_stores(self) -> tuple[str, ...]:
        return self.stores

    def bind(self, context: Context) -> Process:
        processor = self.supplier()
        if not isinstance(processor, Processor):
            raise TypeError(f"{context.name}: the supplier gave {processor!r}, which is no Processor")
        user_context = ProcessorContext(context, fixed_key=self.fixed_key)
        processor.init(user_context)
        context.close = processor.close
        if not self.fixed_key:
            return processor.process

        def process(record: Record) -> None:
            user_context._key = record.key
            processor.process(record)

        return process
