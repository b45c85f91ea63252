"""Statements one after another: each is analysed against what the ones before it made.

An engine decides and keeps a catalogue. It starts nothing and writes nothing: hosts (the server, the test
runner) do what an `Outcome` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.expressions.environment import NOWHERE, Environment
from penstock.plan.plan import Plan
from penstock.sql import statements as s
from penstock.sql.analysis.query import AnalysedQuery, analyse_query
from penstock.sql.create_analysis import Inference, analyse_create
from penstock.sql.dropping import check_drop
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.function_analysis import analyse_function
from penstock.sql.insert_values import NewRecord, analyse_insert
from penstock.sql.lowering.graph import SerdeOf
from penstock.sql.lowering.query import plan_query
from penstock.sql.properties import Properties
from penstock.sql.replacing import altered, check_replaced, check_same_steps
from penstock.sql.sinks import check_insert, check_schema_ids, fitted, sink_of
from penstock.sql.sources import Catalogue, DataSource

_INSERT_PROPERTIES: Final = frozenset({"QUERY_ID"})
_TOPIC_PREFIX: Final = "ksql.output.topic.name.prefix"


@dataclass(frozen=True)
class PersistentQuery:
    """A query that runs until it is terminated."""

    id: str
    sink: DataSource
    query: AnalysedQuery
    plan: Plan

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its sources."""
        return tuple(source.name for source in self.query.sources)


@dataclass(frozen=True)
class Outcome:
    """What a statement asks its host to do; empty where it only changed the catalogue."""

    source: DataSource | None = None
    query: PersistentQuery | None = None
    record: NewRecord | None = None
    transient: AnalysedQuery | None = None
    skipped: bool = False
    """IF NOT EXISTS or IF EXISTS had nothing to do."""


class Engine:
    def __init__(
        self,
        serde_of: SerdeOf,
        *,
        properties: Mapping[str, Any] | None = None,
        partitions: Callable[[str], int | None] = lambda topic: None,
        infer: Inference | None = None,
        environment: Environment = NOWHERE,
        now_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        """`partitions` says how many a topic has, `infer` which columns a registered schema has."""
        self.catalogue = Catalogue()
        self.queries: dict[str, PersistentQuery] = {}
        self.properties: dict[str, Any] = dict(properties or {})
        self._serde_of, self._partitions, self._infer = serde_of, partitions, infer
        self._environment, self._now_ms = environment, now_ms
        self._next_id = 0

    def copied(
        self,
        properties: Mapping[str, Any],
        partitions: Callable[[str], int | None],
        next_id: int,
    ) -> Engine:
        """An engine that knows the same, for a statement that is tried with settings of its own."""
        made = copy(self)
        made.queries, made.properties = dict(self.queries), {**self.properties, **properties}
        made._partitions, made._next_id = partitions, next_id
        return made

    def execute(self, node: s.Statement) -> Outcome:
        match node:
            case s.CreateSource():
                return self._create(node)
            case s.CreateAsSelect():
                return self._create_as(node)
            case s.InsertSelect():
                return self._insert_select(node)
            case s.InsertValues():
                return Outcome(record=analyse_insert(node, self.catalogue, self._environment, self._now_ms()))
            case s.Query():
                return Outcome(transient=analyse_query(node, self.catalogue, self.properties))
            case s.DropSource():
                return self._drop(node)
            case s.AlterSource():
                source = altered(node, self.catalogue)
                self.catalogue = self.catalogue.with_source(source)
                return Outcome(source)
            case s.CreateFunction():
                return self._create_function(node)
            case s.DropFunction():
                return self._drop_function(node)
            case s.CreateType():
                return self._create_type(node)
            case s.DropType():
                return self._drop_type(node)
            case s.SetProperty():
                self.properties[node.name] = node.value
            case s.UnsetProperty():
                self.properties.pop(node.name, None)
            case s.ManageQuery():
                return self._manage(node)
        return Outcome()

    def _create(self, node: s.CreateSource) -> Outcome:
        old = self.catalogue.sources.get(node.name)
        if old is not None and node.if_not_exists:
            return Outcome(old, skipped=True)
        source = analyse_create(
            node,
            self.catalogue,
            key_format=self._format("key", "KAFKA"),
            value_format=self._format("value", None),
            infer=self._infer,
            wraps=self._wraps,
        )
        partitions = self._partitions(source.topic)
        source = replace(source, partitions=partitions if partitions is not None else source.partitions)
        if old is not None:
            check_replaced(old, source, node.at)
        self.catalogue = self.catalogue.with_source(source)
        return Outcome(source)

    @property
    def _wraps(self) -> bool:
        return str(self.properties.get("ksql.persistence.wrap.single.values", "true")).lower() != "false"

    def _format(self, side: str, default: str | None) -> str | None:
        found = self.properties.get(f"ksql.persistence.default.format.{side}", default)
        return None if found is None else str(found)

    def _create_as(self, node: s.CreateAsSelect) -> Outcome:
        old = self.catalogue.sources.get(node.name)
        if old is not None and node.if_not_exists:
            return Outcome(old, skipped=True)
        if old is not None and not node.or_replace:
            kind = node.kind.lower()
            raise SqlError(
                f"Cannot add {kind} '{node.name}': A {old.kind.lower()} with the same name already exists. "
                "Use CREATE OR REPLACE, or DROP it first",
                *node.at,
            )
        query = analyse_query(node.query, self.catalogue, self.properties, persistent=node.name)
        sink = sink_of(
            node,
            query,
            str(self.properties.get(_TOPIC_PREFIX, "")),
            key_format=self._format("key", "KAFKA") or "KAFKA",
            wraps=self._wraps,
        )
        if self._infer is not None:
            check_schema_ids(sink, self._infer, node.at)
        if old is not None:
            check_replaced(old, sink, node.at)
            running = self.queries.get(self._id_for(node))
            if running is not None:
                check_same_steps(running.query, query, node.at)
        made = self._persistent(self._id_for(node), query, sink)
        self.catalogue = self.catalogue.with_source(sink)
        return Outcome(sink, made)

    def _id_for(self, node: s.CreateAsSelect) -> str:
        """A query that replaces another keeps its id, and with it its state."""
        stem = f"{'CSAS' if node.kind == 'STREAM' else 'CTAS'}_{node.name}_"
        kept = next((name for name in self.queries if name.startswith(stem)), None)
        return kept or f"{stem}{self._next_id}"

    def _persistent(self, name: str, query: AnalysedQuery, sink: DataSource) -> PersistentQuery:
        made = PersistentQuery(name, sink, query, plan_query(query, sink, self._serde_of))
        self._next_id += 1
        self.queries[name] = made
        return made

    def _insert_select(self, node: s.InsertSelect) -> Outcome:
        sink = self.catalogue.sources.get(node.target)
        if sink is None:
            raise SqlError(f"Sink does not exist for the INSERT INTO statement: `{node.target}`", *node.at)
        query = analyse_query(node.query, self.catalogue, self.properties, persistent=node.target)
        query = fitted(query, sink)
        check_insert(node, query, sink)
        given = Properties(node.properties, _INSERT_PROPERTIES, node.at)
        name = (given.text("QUERY_ID") or f"INSERTQUERY_{self._next_id}").upper()
        if name in self.queries:
            raise SqlError(f"Query ID '{name}' already exists.", *node.at)
        return Outcome(query=self._persistent(name, query, sink))

    def _drop(self, node: s.DropSource) -> Outcome:
        if node.cascade:
            self._drop_readers(node)
        source = check_drop(node, self.catalogue, self.queries)
        if source is None:
            return Outcome(skipped=True)
        self.queries = {
            name: query
            for name, query in self.queries.items()
            if query.sink.name != node.name or name.startswith("INSERTQUERY")
        }
        self.catalogue = self.catalogue.without_source(node.name)
        return Outcome(source)

    def _drop_readers(self, node: s.DropSource) -> None:
        """CASCADE: what queries made of the source goes first, and queries that write to it end."""
        for query in list(self.queries.values()):
            if query.id not in self.queries or node.name not in (*query.reads, query.sink.name):
                continue
            made = self.catalogue.sources.get(query.sink.name)
            if made is not None and made.name != node.name and made.is_derived:
                self._drop(replace(node, kind=made.kind, name=made.name))
            elif query.sink.name != node.name or query.id.startswith("INSERTQUERY"):
                self.queries.pop(query.id, None)

    def _create_function(self, node: s.CreateFunction) -> Outcome:
        if node.name in self.catalogue.functions and node.if_not_exists:
            return Outcome(skipped=True)
        self.catalogue = self.catalogue.with_function(analyse_function(node, self.catalogue))
        return Outcome()

    def _drop_function(self, node: s.DropFunction) -> Outcome:
        """Queries that use it keep it."""
        if node.name not in self.catalogue.functions:
            if node.if_exists:
                return Outcome(skipped=True)
            raise SqlError(f"Function {node.name} does not exist, or is one of the language's own.", *node.at)
        self.catalogue = self.catalogue.without_function(node.name)
        return Outcome()

    def _create_type(self, node: s.CreateType) -> Outcome:
        known = self.catalogue.types.get(node.name)
        if known is not None:
            if node.if_not_exists:
                return Outcome(skipped=True)
            raise SqlError(
                f"Cannot register custom type '{node.name}' since it is already registered with type: "
                f"{known}",
                *node.at,
            )
        self.catalogue = self.catalogue.with_type(node.name, type_of(node.type, self.catalogue.types))
        return Outcome()

    def _drop_type(self, node: s.DropType) -> Outcome:
        if node.name not in self.catalogue.types:
            if node.if_exists:
                return Outcome(skipped=True)
            raise SqlError(f"Type {node.name} does not exist.", *node.at)
        self.catalogue = self.catalogue.without_type(node.name)
        return Outcome()

    def _manage(self, node: s.ManageQuery) -> Outcome:
        if node.query is None:
            if node.action == "TERMINATE":
                self.queries.clear()
            return Outcome()
        if node.query not in self.queries:
            raise SqlError(f"Unknown queryId: {node.query}. SHOW QUERIES lists them", *node.at)
        found = self.queries[node.query]
        if node.action == "TERMINATE":
            del self.queries[node.query]
        return Outcome(query=found)
