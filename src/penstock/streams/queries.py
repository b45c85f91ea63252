"""Interactive queries: the rows of a store, read from its changelog while the application runs, in any
process.

A view holds its own copy of the store, one part for each partition of the changelog, and follows what is
committed; so it never shows what a failed batch has done, and it needs neither the application's process nor
its files. The stores themselves are those of the kernels: a view is asked as a processor asks its store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final

from penstock.kernels.cells import Cells
from penstock.kernels.context import TaskState
from penstock.kernels.record import Stamped, Windowed
from penstock.kernels.store_specs import KeyValueSpec, SessionSpec, StoreSpec, VersionedSpec, WindowSpec
from penstock.plan.errors import TopologyError
from penstock.plan.plan import Plan
from penstock.streams.changelog_follower import ChangelogFollower

TIMEOUT_S: Final = 60.0


class StoreView:
    """A store as it is committed. `wait_until_current` makes sure of what was committed before the call."""

    def __init__(
        self,
        spec: StoreSpec,
        changelog: str,
        bootstrap_servers: str,
        timeout_s: float = TIMEOUT_S,
        security: Mapping[str, str] | None = None,
    ) -> None:
        self.name = spec.name
        self._lock = threading.Lock()
        self._follower = ChangelogFollower(bootstrap_servers, changelog, self._put, timeout_s, security)
        self._cells: list[Cells] = []
        self._parts: list[Any] = []
        for _ in range(self._follower.partitions):
            cells = Cells(spec.name, topic=changelog)
            self._cells.append(cells)
            self._parts.append(spec.make(cells, TaskState(), {}))
        self._follower.start()

    def __enter__(self) -> StoreView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._follower.close()

    def wait_until_current(self) -> None:
        self._follower.wait_until_current()

    def approximate_num_entries(self) -> int:
        with self._lock:
            return sum(map(len, self._cells))

    def _put(self, partition: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        with self._lock:
            self._parts[partition].restore(key, value, timestamp)
            self._cells[partition].discard_changes()

    def _first(self, read: Callable[[Any], Any]) -> Any:
        """What the part has that knows the key: which one is the partitioner's affair, so all are asked."""
        self._follower.check()
        with self._lock:
            return next((found for part in self._parts if (found := read(part)) is not None), None)

    def _every(self, read: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """What all parts have, one after the other; a copy, because the view goes on meanwhile."""
        self._follower.check()
        with self._lock:
            return iter([found for part in self._parts for found in read(part)])


class KeyValueView(StoreView):
    def get(self, key: Any) -> Any:
        return self._first(lambda part: part.get(key))

    def get_stamped(self, key: Any) -> Stamped | None:
        """With the time of the record that made it."""
        row: Stamped | None = self._first(lambda part: part.get_stamped(key))
        return row

    def range(self, low: Any = None, high: Any = None, *, reverse: bool = False) -> Iterator[tuple[Any, Any]]:
        """Pairs from `low` to `high`, both included; in the order of the keys' bytes within a partition."""
        return self._every(lambda part: part.range(low, high, reverse=reverse))

    def all(self) -> Iterator[tuple[Any, Any]]:
        return self.range()

    def prefix_scan(self, prefix: bytes) -> Iterator[tuple[Any, Any]]:
        return self._every(lambda part: part.prefix_scan(prefix))


class VersionedView(StoreView):
    def get(self, key: Any) -> Any:
        return self._first(lambda part: part.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> Stamped | None:
        row: Stamped | None = self._first(lambda part: part.get_as_of(key, timestamp))
        return row


class WindowView(StoreView):
    def fetch(self, key: Any, start: int) -> Any:
        """The value of the window that begins at `start`."""
        return self._first(lambda part: part.fetch(key, start))

    def fetch_range(self, key: Any, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """Start and value of a key's windows that begin from `first` to `last`, both included."""
        found = self._every(lambda part: part.fetch_range(key, first, last))
        return ((start, row.value) for start, row in found)

    def fetch_all(self, first: int, last: int) -> Iterator[tuple[Windowed, Any]]:
        return self._every(lambda part: part.fetch_all(first, last))

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        return self._every(lambda part: part.all())


class SessionView(StoreView):
    def fetch(self, key: Any) -> Iterator[tuple[Windowed, Any]]:
        """All sessions of a key."""
        return self._every(lambda part: part.fetch(key))

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[tuple[Windowed, Any]]:
        return self._every(lambda part: part.find_sessions(key, earliest_end, latest_start))

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        return self._first(lambda part: part.fetch_session(key, start, end))

    def all(self) -> Iterator[tuple[Windowed, Any]]:
        return self._every(lambda part: part.all())


_VIEWS: Final[dict[type[StoreSpec], type[StoreView]]] = {
    KeyValueSpec: KeyValueView,
    VersionedSpec: VersionedView,
    WindowSpec: WindowView,
    SessionSpec: SessionView,
}


def open_view(
    plan: Plan,
    application_id: str,
    bootstrap_servers: str,
    name: str,
    timeout_s: float = TIMEOUT_S,
    security: Mapping[str, str] | None = None,
) -> Any:
    """A view of a store, with everything in it that is committed now."""
    spec = next((store for store in plan.used_stores if store.name == name), None)
    if spec is None:
        known = sorted(store.name for store in plan.used_stores if type(store) in _VIEWS)
        raise KeyError(f"there is no store {name}; there are {known}")
    if type(spec) not in _VIEWS:
        raise TopologyError(f"store {name} is an operator's own and cannot be queried")
    if not spec.logging and spec.source_topic is None:
        raise TopologyError(f"store {name} has no changelog (logging=False), and so it cannot be queried")
    changelog = plan.changelog_name(name, application_id)
    view = _VIEWS[type(spec)](spec, changelog, bootstrap_servers, timeout_s, security)
    try:
        view.wait_until_current()
    except BaseException:
        view.close()
        raise
    return view
