"""Operators without state: map, filter, branch and their kin, and the way out of a table into a stream.

Those that call nothing but a function of key and value also work on many records at once (`bind_rows`): one
comprehension costs a fifth of a call for each record.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function, Operation, Rows, RowsFunction
from penstock.kernels.record import Record


@dataclass(frozen=True)
class Filter(Operation):
    predicate: Function  # (key, value) → bool
    negate: bool = False

    def bind(self, context: Context) -> Process:
        predicate, negate, forward = self.predicate, self.negate, context.forward

        def process(record: Record) -> None:
            if bool(predicate(record.key, record.value)) is not negate:
                forward(record)

        return process

    def bind_rows(self) -> RowsFunction:
        predicate, negate = self.predicate, self.negate
        return lambda rows: [row for row in rows if bool(predicate(row[0], row[1])) is not negate]


@dataclass(frozen=True)
class Map(Operation):
    function: Function  # (key, value) → (key, value)

    def bind(self, context: Context) -> Process:
        function, forward = self.function, context.forward

        def process(record: Record) -> None:
            key, value = function(record.key, record.value)
            forward(Record(key, value, record.timestamp, record.headers))

        return process

    def bind_rows(self) -> RowsFunction:
        function = self.function

        def process(rows: Rows) -> Rows:
            pairs = ((function(row[0], row[1]), row) for row in rows)
            return [(key, value, row[2], row[3]) for (key, value), row in pairs]

        return process


@dataclass(frozen=True)
class SelectKey(Operation):
    function: Function  # (key, value) → key

    def bind(self, context: Context) -> Process:
        function, forward = self.function, context.forward
        return lambda record: forward(record.with_key(function(record.key, record.value)))

    def bind_rows(self) -> RowsFunction:
        function = self.function
        return lambda rows: [(function(k, v), v, at, headers) for k, v, at, headers in rows]


@dataclass(frozen=True)
class MapValues(Operation):
    function: Function  # (value) → value, or (key, value) → value
    with_key: bool = False

    def bind(self, context: Context) -> Process:
        function, forward = self.function, context.forward
        if self.with_key:
            return lambda record: forward(record.with_value(function(record.key, record.value)))
        return lambda record: forward(record.with_value(function(record.value)))

    def bind_rows(self) -> RowsFunction:
        function = self.function
        if self.with_key:
            return lambda rows: [(k, function(k, v), at, headers) for k, v, at, headers in rows]
        return lambda rows: [(k, function(v), at, headers) for k, v, at, headers in rows]


@dataclass(frozen=True)
class FlatMap(Operation):
    function: Function  # (key, value) → pairs

    def bind(self, context: Context) -> Process:
        function, forward = self.function, context.forward

        def process(record: Record) -> None:
            for key, value in function(record.key, record.value):
                forward(Record(key, value, record.timestamp, record.headers))

        return process

    def bind_rows(self) -> RowsFunction:
        function = self.function
        return lambda rows: [
            (key, value, at, headers) for k, v, at, headers in rows for key, value in function(k, v)
        ]


@dataclass(frozen=True)
class FlatMapValues(Operation):
    function: Function  # (value) → values, or (key, value) → values
    with_key: bool = False

    def bind(self, context: Context) -> Process:
        function, forward, with_key = self.function, context.forward, self.with_key

        def process(record: Record) -> None:
            values = function(record.key, record.value) if with_key else function(record.value)
            for value in values:
                forward(record.with_value(value))

        return process

    def bind_rows(self) -> RowsFunction:
        function = self.function
        if self.with_key:
            return lambda rows: [
                (k, new, at, headers) for k, v, at, headers in rows for new in function(k, v)
            ]
        return lambda rows: [(k, new, at, headers) for k, v, at, headers in rows for new in function(v)]


@dataclass(frozen=True)
class Peek(Operation):
    """Calls a function for its effect; `last` records go no further."""

    function: Function  # (key, value) → anything
    last: bool = False

    def bind(self, context: Context) -> Process:
        function, forward, last = self.function, context.forward, self.last

        def process(record: Record) -> None:
            function(record.key, record.value)
            if not last:
                forward(record)

        return process


@dataclass(frozen=True)
class Branch(Operation):
    """A record goes to the child of the first predicate that holds, else to the default's, else nowhere."""

    predicates: tuple[Function, ...]
    branches: tuple[str, ...]  # names of the children, one for each predicate, and perhaps the default's

    def bind(self, context: Context) -> Process:
        pairs = tuple(zip(self.predicates, self.branches, strict=False))
        default = self.branches[-1] if len(self.branches) > len(self.predicates) else None
        forward = context.forward

        def process(record: Record) -> None:
            for predicate, branch in pairs:
                if predicate(record.key, record.value):
                    forward(record, branch)
                    return
            if default is not None:
                forward(record, default)

        return process


@dataclass(frozen=True)
class PassThrough(Operation):
    """Where streams are merged, or a branch begins."""

    def bind(self, context: Context) -> Process:
        return context.forward

    def bind_rows(self) -> RowsFunction:
        return lambda rows: rows


@dataclass(frozen=True)
class RepartitionFilter(Operation):
    """Stands before a repartition topic. Null keys go no further unless an outer join downstream can use
    them.
    """

    keep_null_keys: bool = False

    def bind(self, context: Context) -> Process:
        forward = context.forward
        if self.keep_null_keys:
            return forward

        def process(record: Record) -> None:
            if record.key is not None:
                forward(record)

        return process

    def bind_rows(self) -> RowsFunction:
        if self.keep_null_keys:
            return lambda rows: rows
        return lambda rows: [row for row in rows if row[0] is not None]


@dataclass(frozen=True)
class ToStream(Operation):
    """The changes of a table as records: each new value, `None` for a row that is gone."""

    def bind(self, context: Context) -> Process:
        forward = context.forward
        return lambda record: forward(record.with_value(record.value.new))
