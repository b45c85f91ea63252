"""What a topology says about its stores, and how a task makes them. Persistence is the host's part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.outer_buffer import OuterBuffer
from penstock.kernels.serdes import BytesSerde, Serde
from penstock.kernels.session_store import SessionStore
from penstock.kernels.stores import KeyValueStore, VersionedStore
from penstock.kernels.suppress_buffer import SuppressBuffer
from penstock.kernels.window_store import WindowStore


@dataclass(frozen=True)
class StoreSpec:
    """A store by name. `logging`: a changelog topic keeps it; `caching`: one update a key and step goes
    downstream.
    """

    name: str
    key_serde: Serde[Any]
    value_serde: Serde[Any]
    logging: bool = True
    caching: bool = True
    topic_config: tuple[tuple[str, str], ...] = ()
    source_topic: str | None = None  # a topic that is its changelog already, when the plan was optimised

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class KeyValueSpec(StoreSpec):
    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> KeyValueStore:
        return KeyValueStore(cells, self.key_serde, self.value_serde, task)


@dataclass(frozen=True)
class VersionedSpec(StoreSpec):
    """Rows with their history, `history_ms` long."""

    history_ms: int = 0

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> VersionedStore:
        return VersionedStore(cells, self.key_serde, self.value_serde, task, self.history_ms, marks)


@dataclass(frozen=True)
class WindowSpec(StoreSpec):
    """Values by key and window of `size_ms`, kept until stream time is `retention_ms` later."""

    size_ms: int = 0
    retention_ms: int = 0
    retain_duplicates: bool = False

    def __post_init__(self) -> None:
        if self.size_ms < 0 or self.retention_ms < self.size_ms:
            raise ValueError(
                f"store {self.name} keeps windows for {self.retention_ms} ms; retention_ms must be at least "
                f"the size of a window, {self.size_ms} ms"
            )

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> WindowStore:
        return WindowStore(
            cells,
            self.key_serde,
            self.value_serde,
            task,
            marks,
            size_ms=self.size_ms,
            retention_ms=self.retention_ms,
            retain_duplicates=self.retain_duplicates,
        )


@dataclass(frozen=True)
class SessionSpec(StoreSpec):
    """Values by key and session, kept until stream time is `retention_ms` later."""

    retention_ms: int = 0

    def __post_init__(self) -> None:
        if self.retention_ms < 0:
            raise ValueError(f"store {self.name} keeps sessions for {self.retention_ms} ms: at least 0 ms")

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> SessionStore:
        return SessionStore(
            cells, self.key_serde, self.value_serde, task, marks, retention_ms=self.retention_ms
        )


@dataclass(frozen=True)
class OuterBufferSpec(StoreSpec):
    """Records of a left or outer join of streams that have met none yet; `value_serde` is the left side's."""

    right_serde: Serde[Any] = field(default_factory=BytesSerde)

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> OuterBuffer:
        return OuterBuffer(cells, self.key_serde, self.value_serde, self.right_serde, marks)


@dataclass(frozen=True)
class SuppressSpec(StoreSpec):
    """Changes that are held back."""

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> SuppressBuffer:
        return SuppressBuffer(cells, self.key_serde, self.value_serde, task)
