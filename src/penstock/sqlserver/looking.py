"""SHOW, LIST, DESCRIBE and EXPLAIN: what the server knows, as entities."""

from __future__ import annotations

from typing import Any, Final

from penstock.plan.describe import describe
from penstock.plan.plan import Plan
from penstock.plan.rules import rewrite
from penstock.settings.secret_files import is_secret
from penstock.sql import statements as s
from penstock.sql.analysis.query import analyse_query
from penstock.sql.errors import SqlError
from penstock.sql.sources import DataSource
from penstock.sql.statement_printing import statement as printed
from penstock.sqlserver import connectors, functions
from penstock.sqlserver.commands import Command
from penstock.sqlserver.entities import (
    Entity,
    entity,
    field_json,
    fields_json,
    query_description,
    query_line,
    schema_json,
    source_description,
    source_line,
)
from penstock.sqlserver.explaining import explained
from penstock.sqlserver.metastore import KnownQuery
from penstock.sqlserver.picture import picture
from penstock.sqlserver.positions import consumers, offset_summaries
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.sessions import Session
from penstock.sqlserver.settings import is_editable
from penstock.sqlserver.transient import transient_plan

_KINDS: Final = {"STREAMS": "STREAM", "TABLES": "TABLE"}


def is_look(node: s.Statement) -> bool:
    return isinstance(node, s.Show | s.Describe | s.Explain)


def answer(server: SqlServer, session: Session, node: s.Statement, text: str) -> Entity:
    look = _Look(server, session, text)
    match node:
        case s.Show():
            return look.show(node)
        case s.Describe():
            return look.describe(node)
        case s.Explain():
            return look.explain(node)
        case _:
            raise AssertionError(node)


class _Look:
    def __init__(self, server: SqlServer, session: Session, text: str) -> None:
        self._server, self._session, self._text = server, session, text
        self._state = server.metastore

    def show(self, node: s.Show) -> Entity:
        match node.what:
            case "STREAMS" | "TABLES":
                return self._sources(node.what, extended=node.extended)
            case "QUERIES":
                return self._queries(extended=node.extended)
            case "TOPICS":
                return self._topics(everything=node.all, extended=node.extended)
            case "PROPERTIES":
                return self._properties()
            case "FUNCTIONS":
                return entity(
                    "function_names", self._text, functions=functions.names(self._state.catalogue.functions)
                )
            case "CREATE STREAM" | "CREATE TABLE" | "CREATE FUNCTION":
                return self._create_statement(node)
            case "TYPES":
                types = {name: schema_json(kind) for name, kind in self._state.catalogue.types.items()}
                return entity("type_list", self._text, types=types)
            case "VARIABLES":
                given = [{"name": name, "value": value} for name, value in self._session.variables.items()]
                return entity("variables", self._text, variables=given)
            case "PLUGINS":
                return connectors.plugins(self._server.connect, self._text)
            case _:
                return connectors.listed(self._server.connect, node.connector_kind, self._text)

    def _create_statement(self, node: s.Show) -> Entity:
        """The text that made it, which stands alone: variables replaced, columns written out."""
        kind, name = node.what.removeprefix("CREATE ").lower(), node.name or ""
        known = {**self._state.catalogue.sources, **self._state.catalogue.functions}
        for command in sorted(self._state.commands.values(), key=lambda each: -each.number):
            if command.command_id == f"{kind}/`{name}`/create" and name in known:
                return entity("create_statement", self._text, name=name, statement=command.statement)
        raise SqlError(f"There is no {kind} {name}", *node.at)

    def _sources(self, what: str, *, extended: bool) -> Entity:
        chosen = [
            each for _, each in sorted(self._state.catalogue.sources.items()) if each.kind == _KINDS[what]
        ]
        if extended:
            found = [self._source(each, extended=True) for each in chosen]
            return entity("source_descriptions", self._text, sourceDescriptions=found)
        return entity(what.lower(), self._text, **{what.lower(): [source_line(each) for each in chosen]})

    def _queries(self, *, extended: bool) -> Entity:
        known = sorted(self._state.queries.items())
        if extended:
            found = [self._query(name, query) for name, query in known]
            return entity("query_descriptions", self._text, queryDescriptions=found)
        return entity("queries", self._text, queries=[self._line(name, query) for name, query in known])

    def _line(self, name: str, known: KnownQuery) -> Entity:
        state = self._server.persistent.state_of(name)
        line = query_line(name, known.command.statement, known.query.sink, state)
        skipped = self._server.skipped.of(name)
        return line if skipped is None else {**line, **skipped}

    def _topics(self, *, everything: bool, extended: bool) -> Entity:
        found, readers = [], consumers(self._server.admin) if extended else {}
        for topic in self._server.topics.listed(everything=everything):
            line: dict[str, Any] = {
                "name": topic.name,
                "replicaInfo": [len(part.replicas) for part in topic.partitions],
            }
            if extended:
                count, groups = readers.get(topic.name, (0, 0))
                line |= {"consumerCount": count, "consumerGroupCount": groups}
            found.append(line)
        return entity(f"kafka_topics{'_extended' if extended else ''}", self._text, topics=found)

    def _properties(self) -> Entity:
        values = {**self._server.settings.values, **self._state.system}
        for name in self._session.overwritten:
            full = name if name.startswith("ksql.") else f"ksql.streams.{name}"
            values[full] = self._session.properties[name]
        values = {name: text for name, text in values.items() if not is_secret(name)}
        listed = [
            {
                "name": name,
                "scope": "KSQL",
                "value": value,
                "editable": is_editable(name),
                "level": "SERVER",
            }
            for name, value in sorted(values.items())
        ]
        changed = sorted(
            name if name.startswith("ksql.") else f"ksql.streams.{name}" for name in self._session.overwritten
        )
        return entity(
            "properties",
            self._text,
            properties=listed,
            overwrittenProperties=changed,
            defaultProperties=[],
        )

    def describe(self, node: s.Describe) -> Entity:
        match node.what:
            case "STREAMS" | "TABLES":
                return self._sources(node.what, extended=True)
            case "FUNCTION":
                return self._function(node)
            case "CONNECTOR":
                return connectors.described(self._server.connect, node.name or "", self._text)
            case _:
                source = self._found(node.name or "", node)
                made = self._source(source, extended=node.extended)
                return entity("sourceDescription", self._text, sourceDescription=made)

    def _function(self, node: s.Describe) -> Entity:
        found = functions.description(node.name or "", self._state.catalogue.functions)
        if found is None:
            raise SqlError(
                f"Can't find any functions with the name '{node.name}'. SHOW FUNCTIONS lists them", *node.at
            )
        return entity("describe_function", self._text, **found)

    def _found(self, name: str, node: s.Statement) -> DataSource:
        source = self._state.catalogue.sources.get(name)
        if source is None:
            raise SqlError(f"Could not find STREAM/TABLE '{name}' in the Metastore", *node.at)
        return source

    def _source(self, source: DataSource, *, extended: bool) -> Entity:
        queries = sorted(self._state.queries.items())
        reads = [self._line(name, each) for name, each in queries if source.name in each.query.reads]
        writes = [self._line(name, each) for name, each in queries if each.query.sink.name == source.name]
        dependants = [each.query.sink.name for _, each in queries if source.name in each.query.reads]
        partitions = replication = 0
        if extended and (topic := self._server.topics.all().get(source.topic)) is not None:
            partitions = len(topic.partitions)
            replication = len(topic.partitions[0].replicas)
        offsets: list[Entity] = []
        if extended and writes:
            groups = [self._server.settings.application_id(each["id"]) for each in writes]
            offsets = offset_summaries(self._server.admin, groups)
        return source_description(
            source,
            self._state.statements.get(source.name, ""),
            reads,
            writes,
            dependants,
            extended=extended,
            partitions=partitions,
            replication=replication,
            offsets=offsets,
        )

    def _query(self, name: str, known: KnownQuery) -> Entity:
        error = self._server.persistent.error_of(name)
        plan, state = known.query.plan, self._server.persistent.state_of(name)
        owner = self._server.servers.owner(name) if name in self._state.queries else None
        return query_description(
            name,
            known.command.statement,
            fields_json(known.query.sink),
            known.query.reads,
            [known.query.sink.name],
            explained(plan),
            _topology(plan),
            state,
            window=known.query.sink.window.kind if known.query.sink.window else None,
            properties=known.command.properties,
            errors=[error] if error else [],
            hosts={owner: state} if owner else {},
            drawn=picture(plan),
        )

    def explain(self, node: s.Explain) -> Entity:
        if node.query is not None:
            known = self._state.queries.get(node.query)
            if known is None:
                raise SqlError(
                    f"Query with id:{node.query} does not exist, use SHOW QUERIES to view the full set of "
                    "queries.",
                    *node.at,
                )
            described = self._query(node.query, known)
            if node.analyze:
                described["liveProgress"] = self._server.persistent.progress_of(node.query)
            return entity("queryDescription", self._text, queryDescription=described)
        assert node.statement is not None
        if node.analyze:
            raise SqlError("EXPLAIN ANALYZE takes the id of a query that runs: SHOW QUERIES", *node.at)
        return entity("queryDescription", self._text, queryDescription=self._explained(node.statement))

    def _explained(self, node: s.Statement) -> Entity:
        if isinstance(node, s.Query):
            analysed = analyse_query(node, self._state.catalogue)
            columns, plan = transient_plan(analysed, self._state.serde_of)
            fields = [field_json(column) for column in columns]
            names = [node.source.name, *(join.right.name for join in node.joins)]
            return query_description(
                "",
                printed(node),
                fields,
                names,
                [],
                explained(plan),
                _topology(plan),
                "",
                kind="PUSH",
                drawn=picture(plan),
            )
        if not isinstance(node, s.CreateAsSelect | s.InsertSelect):
            raise SqlError("The provided statement does not run a ksql query", *node.at)
        known = {each.topic: each.partitions or 1 for each in self._state.catalogue.sources.values()}
        command = Command(self._state.next_number, "", printed(node), dict(self._session.properties), known)
        _, outcome = self._state.tried(command)
        assert outcome.query is not None
        return self._query(outcome.query.id, KnownQuery(outcome.query, command))


def _topology(plan: Plan) -> str:
    return describe(rewrite(plan))
