"""Suppression: a table's changes are held back until time has passed, a window has closed, or the buffer is
full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Getter, Process
from penstock.kernels.operation import AskOld, Parents, StoresOf, TableOperation, ViewOf
from penstock.kernels.record import UNKNOWN_TIME, Record, Stamped
from penstock.kernels.suppress_buffer import SuppressBuffer


class BufferFull(RuntimeError):
    """A suppression that must not emit early has more to hold than it may."""


@dataclass(frozen=True)
class Suppress(TableOperation):
    store: str = ""
    wait_ms: int = 0  # after the record's time; after the window's end if `until_close`
    until_close: bool = False
    max_records: int | None = None
    max_bytes: int | None = None
    emit_early: bool = False  # what a full buffer does: emit the oldest early, or fail

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return ((parents[0], True),)

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        return ask(parents[0], force)

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        buffer: SuppressBuffer = stores[self.store]
        upstream = of(parents[0])

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            held, prior = buffer.prior_of(key)
            if held:
                return None if prior is None else Stamped(prior, UNKNOWN_TIME)
            row: Stamped | None = upstream(key, as_of)
            return row

        return get

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        return (self.store, *of(parents[0]))

    def bind(self, context: Context) -> Process:
        buffer: SuppressBuffer = context.stores[self.store]

        def process(record: Record) -> None:
            stream_time = context.advance("stream_time", record.timestamp)
            buffer.put(record.key.end if self.until_close else record.timestamp, record)
            while (held := buffer.first()) is not None and held.due <= stream_time - self.wait_ms:
                tell_first(held.record)
            while self._is_over(buffer):
                if not self.emit_early:
                    raise BufferFull(f"{context.name} holds {len(buffer)} records, {buffer.size_bytes} bytes")
                first = buffer.first()
                assert first is not None
                tell_first(first.record)

        def tell_first(record: Record) -> None:
            if record.value.new is not None or not self.until_close:
                context.forward(record)
            buffer.remove_first()

        return process

    def _is_over(self, buffer: SuppressBuffer) -> bool:
        if self.max_records is not None and len(buffer) > self.max_records:
            return True
        return self.max_bytes is not None and buffer.size_bytes > self.max_bytes
