"""What the server knows: streams, tables, types and persistent queries, as the command topic gives them.

A `Metastore` is a value. `replay` executes one command's statement on a copy of the engine and returns the
next metastore; nothing else changes it. A command that fails is kept with its error, and the others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from penstock.client.frozen_map import FrozenMap
from penstock.sql import statements as s
from penstock.sql.engine import Engine, Outcome, PersistentQuery
from penstock.sql.errors import SqlError
from penstock.sql.lowering.graph import SerdeOf
from penstock.sql.parsing import parse_statement
from penstock.sql.sources import Catalogue
from penstock.sqlserver.commands import Command


@dataclass(frozen=True)
class KnownQuery:
    """A persistent query and the command that made it."""

    query: PersistentQuery
    command: Command
    paused: bool = False


@dataclass(frozen=True)
class CommandStatus:
    status: str
    """SUCCESS or ERROR."""
    message: str
    query_id: str | None = None


@dataclass(frozen=True)
class Metastore:
    engine: Engine
    serde_of: SerdeOf
    commands: FrozenMap[int, Command] = field(default_factory=FrozenMap)
    next_number: int = 0
    """Of the next command: one more than the highest that was read."""
    queries: Mapping[str, KnownQuery] = field(default_factory=lambda: MappingProxyType({}))
    statements: FrozenMap[str, str] = field(default_factory=FrozenMap)
    """By name of a source, the text that made it."""
    statuses: FrozenMap[str, CommandStatus] = field(default_factory=FrozenMap)
    """By command id, what became of the last command with it."""
    system: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Settings of ALTER SYSTEM."""

    @property
    def catalogue(self) -> Catalogue:
        return self.engine.catalogue

    def tried(self, command: Command) -> tuple[Metastore, Outcome]:
        """What the command would make; SqlError where its statement is wrong."""
        node = parse_statement(command.statement)
        engine = self.engine.copied(command.properties, command.partitions.get, command.number)
        outcome = engine.execute(node)
        engine.properties = dict(self.engine.properties)
        changed = replace(
            self._taken(command),
            engine=engine,
            queries=self._queries(engine, node, outcome, command),
            statements=_statements(self.statements, engine, outcome, command),
        )
        if isinstance(node, s.AlterSystem):
            changed = replace(changed, system=MappingProxyType({**self.system, node.name: node.value}))
        return changed._noted(command, success(node, outcome)), outcome

    def replay(self, record: Command) -> Metastore:
        try:
            return self.tried(record)[0]
        except SqlError as error:
            return self._taken(record)._noted(record, CommandStatus("ERROR", error.message))

    def record_of(self, record: Command) -> Command:
        return self.commands.get(record.number, record)

    def _taken(self, command: Command) -> Metastore:
        commands = self.commands.with_item(command.number, command)
        return replace(self, commands=commands, next_number=max(self.next_number, command.number + 1))

    def _noted(self, command: Command, status: CommandStatus) -> Metastore:
        return replace(self, statuses=self.statuses.with_item(command.command_id, status))

    def _queries(
        self, engine: Engine, node: s.Statement, outcome: Outcome, command: Command
    ) -> Mapping[str, KnownQuery]:
        """The queries that are left, a new one with its command, and those that are paused or resumed."""
        known = {name: query for name, query in self.queries.items() if name in engine.queries}
        if isinstance(node, s.ManageQuery):
            if node.action in ("PAUSE", "RESUME"):
                chosen = known if node.query is None else {node.query: known[node.query]}
                known.update({n: replace(q, paused=node.action == "PAUSE") for n, q in chosen.items()})
        elif outcome.query is not None and outcome.query.id in engine.queries:
            known[outcome.query.id] = KnownQuery(outcome.query, command)
            known = _without_replaced(known, outcome.query, node)
        return MappingProxyType(known)


def _without_replaced(
    known: dict[str, KnownQuery], made: PersistentQuery, node: s.Statement
) -> dict[str, KnownQuery]:
    """CREATE OR REPLACE ends the query that filled the source before."""
    if not isinstance(node, s.CreateAsSelect) or not node.or_replace:
        return known
    prefix = made.id.rpartition("_")[0]
    return {n: q for n, q in known.items() if n == made.id or n.rpartition("_")[0] != prefix}


def _statements(
    known: FrozenMap[str, str], engine: Engine, outcome: Outcome, command: Command
) -> FrozenMap[str, str]:
    sources = engine.catalogue.sources
    if len(known) > len(sources) or (outcome.source is not None and outcome.source.name not in sources):
        for name in known.keys() - sources.keys():
            known = known.without(name)
    if outcome.source is not None and outcome.source.name in sources and not outcome.skipped:
        known = known.with_item(outcome.source.name, command.statement)
    return known


def success(node: s.Statement, outcome: Outcome) -> CommandStatus:
    """ksqlDB's sentence for a command that worked."""
    name: Any = getattr(node, "name", None)
    match node:
        case s.CreateSource() if outcome.skipped:
            return CommandStatus("SUCCESS", _exists(node.kind, node.name))
        case s.CreateSource():
            return CommandStatus("SUCCESS", f"{node.kind.capitalize()} created")
        case s.CreateAsSelect() if outcome.skipped:
            return CommandStatus("SUCCESS", _exists(node.kind, node.name))
        case s.CreateAsSelect() | s.InsertSelect():
            assert outcome.query is not None
            return CommandStatus("SUCCESS", f"Created query with ID {outcome.query.id}", outcome.query.id)
        case s.DropSource() if outcome.skipped:
            return CommandStatus("SUCCESS", f"Source `{name}` does not exist.")
        case s.DropSource() if outcome.source is not None:
            return CommandStatus("SUCCESS", f"Source `{name}` (topic: {outcome.source.topic}) was dropped.")
        case s.AlterSource():
            return CommandStatus("SUCCESS", f"{node.kind.capitalize()} altered")
        case s.CreateType():
            kept = f"Custom type with name '{name}' is already registered"
            made = f"Registered custom type with name '{name}'"
            return CommandStatus("SUCCESS", kept if outcome.skipped else made)
        case s.DropType():
            missing = f"Type '{name}' does not exist"
            return CommandStatus("SUCCESS", missing if outcome.skipped else f"Dropped type '{name}'")
        case s.CreateFunction():
            made = f"Function {name} already exists" if outcome.skipped else f"Created function {name}"
            return CommandStatus("SUCCESS", made)
        case s.DropFunction():
            gone = f"Function {name} does not exist" if outcome.skipped else f"Dropped function {name}"
            return CommandStatus("SUCCESS", gone)
        case s.ManageQuery():
            done = {"TERMINATE": "terminated", "PAUSE": "paused", "RESUME": "resumed"}[node.action]
            return CommandStatus("SUCCESS", f"Query {done}.")
        case _:
            return CommandStatus("SUCCESS", "Done")


def _exists(kind: str, name: str) -> str:
    return f"Cannot add {kind.lower()} `{name}`: A {kind.lower()} with the same name already exists."
