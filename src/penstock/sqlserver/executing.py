"""The statements of one /ksql request, one after another: each becomes an entity, or ends the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from penstock.client.errors import ClientError
from penstock.client.schema_registry import RegistryError
from penstock.expressions.environment import Environment, ignore
from penstock.kernels.serdes import SerdeError
from penstock.plan.errors import TopologyError
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.function_analysis import PROPERTIES as FUNCTION
from penstock.sql.insert_values import analyse_insert
from penstock.sql.lexer import RawStatement, split
from penstock.sql.parsing import parse_statement
from penstock.sql.properties import Properties
from penstock.sql.statement_printing import statement as printed
from penstock.sql.variables import substituted
from penstock.sqlserver import asserting, connectors, looking
from penstock.sqlserver.beginning import begin
from penstock.sqlserver.commands import Command
from penstock.sqlserver.deleting import deleted_rows
from penstock.sqlserver.entities import Entity, current_status, replaced_query
from penstock.sqlserver.errors import BAD_STATEMENT, QUERY_ENDPOINT, SERVER_ERROR, KsqlError, StatementError
from penstock.sqlserver.inferring import with_inferred_columns
from penstock.sqlserver.metastore import CommandStatus, Metastore, success
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.sessions import Session
from penstock.sqlserver.topics import topics_named

MOST_STATEMENTS: Final = 10_000
"""Of one request."""
FAILURES: Final = (SqlError, KsqlError, ClientError, RegistryError, SerdeError, TopologyError)
"""What a statement may fail with; anything else is a bug."""
_CONNECTORS: Final = (s.CreateConnector, s.DropConnector)


def execute(
    server: SqlServer, text: str, given: Mapping[str, Any], variables: Mapping[str, str]
) -> list[Entity]:
    """All statements of a request. `StatementError` holds what succeeded before the one that failed."""
    session = Session.of(server.settings.session, given, variables)
    statements = split_or_refuse(text)
    if len(statements) > MOST_STATEMENTS:
        raise KsqlError(
            f"A request has at most {MOST_STATEMENTS} statements, and this one has {len(statements)}"
        )
    answers: list[Entity] = []
    for raw in statements:
        shown = f"{raw.text.strip()};"
        try:
            found = Execution(server, session, raw, shown).run()
        except StatementError:
            raise
        except FAILURES as error:
            raise as_statement_error(error, shown, answers) from error
        if found is not None:
            answers.append(found)
    return answers


def split_or_refuse(text: str) -> list[RawStatement]:
    try:
        return split(text)
    except SqlError as error:
        raise StatementError(str(error), text) from error


def as_statement_error(error: Exception, text: str, answers: list[Entity]) -> StatementError:
    code = error.error_code if isinstance(error, KsqlError) else 40001
    if isinstance(error, ClientError | RegistryError):
        code = SERVER_ERROR
    return StatementError(str(error), text, answers, code)


class Execution:
    """One statement."""

    def __init__(self, server: SqlServer, session: Session, raw: RawStatement, shown: str) -> None:
        self._server, self._session, self._raw, self._shown = server, session, raw, shown

    def run(self) -> Entity | None:
        raw = substituted(self._raw, self._session.variables)
        node = parse_statement(raw)
        if self._session.execute(node):
            return None
        match node:
            case s.Query() | s.PrintTopic():
                raise StatementError(
                    "The following statement types should be issued to the websocket endpoint '/query':\n"
                    "\t* PRINT\n\t* SELECT",
                    self._shown,
                    code=QUERY_ENDPOINT,
                )
            case s.InsertValues():
                self._insert(node)
                return None
            case s.DeleteRows():
                for record in deleted_rows(node, self._server.metastore.catalogue, self._server.now_ms()):
                    self._server.inserter.insert(record)
                return None
            case s.AssertTopic() | s.AssertSchema():
                return asserting.run(self._server, node, self._shown)
            case s.RunScript():
                raise KsqlError("RUN SCRIPT is for the shell: it sends the statements of the file")
            case s.ManageQuery():
                with self._server.changing:
                    return self._manage(node)
            case s.CreateConnector():
                return connectors.create(self._server.connect, node, self._shown)
            case s.DropConnector():
                return connectors.drop(self._server.connect, node, self._shown)
            case _ if looking.is_look(node):
                return looking.answer(self._server, self._session, node, self._shown)
            case _:
                with self._server.changing:
                    return self._change(node)

    def _insert(self, node: s.InsertValues) -> None:
        if not self._server.settings.flag("ksql.insert.into.values.enabled"):
            raise KsqlError("The server has disabled INSERT INTO ... VALUES functionality. ")
        now_ms, catalogue = self._server.now_ms(), self._server.metastore.catalogue
        environment = Environment(ignore, self._server.now_ms, self._server.random)
        self._server.inserter.insert(analyse_insert(node, catalogue, environment, now_ms))

    def _manage(self, node: s.ManageQuery) -> Entity | None:
        if node.query is not None and node.query not in self._server.metastore.queries:
            raise SqlError(f"Unknown queryId: {node.query}. SHOW QUERIES lists them", *node.at)
        return self._command(node, lambda before, after: None)

    def _change(self, node: s.Statement) -> Entity | None:
        """A statement that changes what the server knows."""
        if isinstance(node, s.CreateFunction):
            self._check_function(node)
        if isinstance(node, s.CreateSource):
            given = self._session.properties
            node = with_inferred_columns(
                node,
                self._server.schemas,
                given.get("ksql.persistence.default.format.key", "KAFKA"),
                given.get("ksql.persistence.default.format.value"),
            )
        partitions = self._server.topics.partitions(
            topics_named(node, dict(self._server.metastore.catalogue.sources))
        )
        self._try_topics(node, partitions)
        return self._command(node, partial(self._check_new_queries, node), partitions)

    def _check_function(self, node: s.CreateFunction) -> None:
        settings = self._server.settings
        if not settings.flag("ksql.functions.python.enabled"):
            raise KsqlError(
                "Functions in Python are disabled: they execute any text as the server's user. "
                "Set ksql.functions.python.enabled to true if you trust all who may send statements",
                BAD_STATEMENT,
            )
        allowed = [each.strip() for each in settings.values["ksql.functions.python.packages"].split(",")]
        handler = Properties(node.properties, FUNCTION, node.at).text("HANDLER") or ""
        if node.text is None and handler.partition(".")[0].partition(":")[0] not in allowed:
            raise KsqlError(
                f"The package of {handler} is not registered: name it in ksql.functions.python.packages",
                BAD_STATEMENT,
            )

    def _try_topics(self, node: s.Statement, partitions: Mapping[str, int]) -> None:
        """Topics are made before the statement is written: a query that is restored must find them."""
        state = self._server.metastore
        command = Command(state.next_number, "", printed(node), dict(self._session.properties), partitions)
        _, outcome = state.tried(command)
        if outcome.source is not None and outcome.query is None and not isinstance(node, s.CreateSource):
            return
        self._server.topics.ensure(node, outcome)

    def _command(
        self,
        node: s.Statement,
        check: Callable[[Metastore, Metastore], None],
        partitions: Mapping[str, int] | None = None,
    ) -> Entity:
        before = self._server.metastore
        command_id = command_id_of(node)
        known = partitions if partitions is not None else {}
        if partitions is None or isinstance(node, s.CreateSource):  # a topic may have been made just now
            named = topics_named(node, dict(before.catalogue.sources))
            known = self._server.topics.partitions(named)
        command = self._server.change(command_id, printed(node), dict(self._session.properties), known, check)
        status = self._server.metastore.statuses.get(command_id, CommandStatus("SUCCESS", ""))
        if command.number not in self._server.metastore.commands:  # IF [NOT] EXISTS had nothing to do
            status = _skipped(before, command)
        self._after(node, before)
        made = current_status(self._shown, command_id, status, command.number)
        replaced = self._replaced(node, before)
        return made if replaced is None else {**made, "replacedQuery": replaced}

    def _replaced(self, node: s.Statement, before: Metastore) -> Entity | None:
        """What became of the state of a query that CREATE OR REPLACE has replaced."""
        if not isinstance(node, s.CreateAsSelect) or not node.or_replace:
            return None
        for name, known in self._server.metastore.queries.items():
            old = before.queries.get(name)
            if known.query.sink.name == node.name and old is not None and old.query is not known.query:
                readers = {
                    each.query.sink.name for each in before.queries.values() if node.name in each.query.reads
                }
                return replaced_query(old.query, known.query, sorted(readers))
        return None

    def _after(self, node: s.Statement, before: Metastore) -> None:
        """DELETE TOPIC: of everything that is gone, which with CASCADE may be several sources."""
        if isinstance(node, s.DropSource) and node.delete_topic:
            left = self._server.metastore.catalogue.sources
            for name, source in before.catalogue.sources.items():
                if name not in left:
                    self._server.admin.delete_topic(source.topic)

    def _check_new_queries(self, node: s.Statement, before: Metastore, after: Metastore) -> None:
        self._check_limits(before, after)
        start = node.query.start_at if isinstance(node, s.CreateAsSelect | s.InsertSelect) else None
        reset = self._session.properties.get("auto.offset.reset", "latest")
        if reset != "latest" and start is None:
            return
        for query_id in after.queries.keys() - before.queries.keys():
            begin(self._server, query_id, after.queries[query_id].query.plan, start, reset)

    def _check_limits(self, before: Metastore, after: Metastore) -> None:
        most = self._server.settings.number("ksql.query.persistent.active.limit")
        if len(after.queries) > most and len(after.queries) > len(before.queries):
            raise KsqlError(
                "Not executing statement(s) as it would cause the number of active, persistent queries to "
                f"exceed the configured limit. Current persistent query count: {len(before.queries)}. "
                f"Configured limit: {most}. Use the TERMINATE command to terminate existing queries.",
            )


def _skipped(state: Metastore, command: Command) -> CommandStatus:
    _, outcome = state.tried(command)
    return success(parse_statement(command.statement), outcome)


def command_id_of(node: s.Statement) -> str:
    """What a statement does to what."""
    name = getattr(node, "name", None)
    match node:
        case s.CreateSource() | s.CreateAsSelect():
            return f"{node.kind.lower()}/`{name}`/create"
        case s.DropSource():
            return f"{node.kind.lower()}/{name}/drop"
        case s.AlterSource():
            return f"{node.kind.lower()}/`{name}`/alter"
        case s.InsertSelect():
            return f"stream/`{node.target}`/create"
        case s.CreateType():
            return f"type/{name}/create"
        case s.DropType():
            return f"type/{name}/drop"
        case s.CreateFunction():
            return f"function/`{name}`/create"
        case s.DropFunction():
            return f"function/{name}/drop"
        case s.ManageQuery():
            done = {"TERMINATE": "execute", "PAUSE": "pause", "RESUME": "resume"}[node.action]
            return f"terminate/{node.query or 'ALL'}/{done}"
        case _:
            return f"statement/{type(node).__name__}/execute"
