"""How the state of an operator is kept: its name, its serdes, how long, with or without changelog and
cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.serdes import Serde
from penstock.kernels.store_specs import KeyValueSpec, StoreSpec, VersionedSpec
from penstock.kernels.windows import Duration, millis


@dataclass(frozen=True)
class Materialized:
    """A store. With a name it can be queried. `caching=False`: every update goes downstream;
    `logging=False`: it has no changelog topic and is lost with its directory. `history`: rows keep their
    versions for so long.
    """

    name: str | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    retention: Duration | None = None
    logging: bool = True
    caching: bool = True
    history: Duration | None = None
    topic_config: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(given: Materialized | str | None) -> Materialized:
        if given is None:
            return Materialized()
        return Materialized(given) if isinstance(given, str) else given

    def retention_ms(self, least: int) -> int:
        if self.retention is None:
            return least
        if millis(self.retention) < least:
            raise ValueError(f"retention is {millis(self.retention)} ms; windows and grace need {least} ms")
        return millis(self.retention)

    def key_value_spec(self, name: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> StoreSpec:
        config = tuple(sorted(self.topic_config.items()))
        if self.history is not None:
            return VersionedSpec(
                name, key_serde, value_serde, self.logging, False, config, history_ms=millis(self.history)
            )
        return KeyValueSpec(name, key_serde, value_serde, self.logging, self.caching, config)


@dataclass(frozen=True)
class BufferConfig:
    """How much a suppression may hold. When full, it emits the oldest early, or fails."""

    max_records: int | None = None
    max_bytes: int | None = None
    emit_early: bool = False


@dataclass(frozen=True)
class Suppressed:
    """What `KTable.suppress` waits for."""

    wait: Duration | None  # none: until the window closes
    buffer: BufferConfig = field(default_factory=BufferConfig)
    name: str | None = None

    @staticmethod
    def until_window_closes(buffer: BufferConfig | None = None, name: str | None = None) -> Suppressed:
        """One result a window: the final one. The buffer must hold all open windows, so it may not emit
        early.
        """
        buffer = buffer or BufferConfig()
        if buffer.emit_early:
            raise ValueError("a final result cannot be emitted early: leave out emit_early")
        return Suppressed(None, buffer, name)

    @staticmethod
    def until_time_limit(
        wait: Duration, buffer: BufferConfig | None = None, name: str | None = None
    ) -> Suppressed:
        """At most one update a key in `wait` of stream time."""
        return Suppressed(wait, buffer or BufferConfig(emit_early=True), name)
