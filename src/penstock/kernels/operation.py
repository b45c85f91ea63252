"""What every operator is: a frozen description with a `bind` that gives the function doing it.

`TableOperation` adds what tables owe each other: rows as they are now (`view`), and old values where an
operator downstream needs them (`send_old`). `plan/rules.py` decides which tables must.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Getter, Process
from penstock.kernels.record import Headers, Stamped

Function = Callable[..., Any]
ViewOf = Callable[[str], Getter]
StoresOf = Callable[[str], tuple[str, ...]]
AskOld = Callable[[str, bool], bool]
Parents = tuple[str, ...]
Rows = list[tuple[Any, Any, int, Headers]]
"""Records as plain tuples: key, value, timestamp, headers."""
RowsFunction = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Operation:
    """An operator on records. Fields are the whole of what it needs, so that a plan can be written down."""

    def bind(self, context: Context) -> Process:
        """The function that takes a record; called once for each task."""
        raise NotImplementedError(type(self).__name__)

    def bind_rows(self) -> RowsFunction | None:
        """The same for many records at once; none where records must be taken one by one."""
        return None

    def own_stores(self) -> tuple[str, ...]:
        return ()

    def tables_read(self) -> tuple[str, ...]:
        """Nodes of the tables whose current rows it looks up."""
        return ()

    def reads_emitted_rows(self) -> bool:
        """Whether it reads tables as they were last emitted, and not as they are, while changes are held
        back."""
        return False

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        """Tables that must send old values, and whether they must keep a store for it if they have none."""
        return ()


@dataclass(frozen=True)
class TableOperation(Operation):
    """An operator whose output is a table: its records hold a `Change`."""

    send_old: bool = False

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        """Whether it can send old values, after asking upstream; an operator with a store always can."""
        return True

    def sending_old(self) -> dict[str, Any]:
        """The fields that change when it must send old values."""
        return {"send_old": True}

    def being_read(self) -> dict[str, Any]:
        """The fields that change when another operator reads its rows."""
        return {}

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        raise NotImplementedError(type(self).__name__)

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        """Stores that are read when its rows are."""
        return self.own_stores()


def store_view(store: Any) -> Getter:
    """Rows straight from a key-value store."""
    as_of_known = getattr(store, "get_as_of", None)

    def get(key: Any, as_of: int | None = None) -> Stamped | None:
        found: Stamped | None
        if as_of is not None and as_of_known is not None:
            found = as_of_known(key, as_of)
        else:
            found = store.get_stamped(key)
        return found

    return get


def value_of(row: Stamped | None) -> Any:
    return None if row is None else row.value
