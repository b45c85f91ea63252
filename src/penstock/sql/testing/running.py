"""One case after another: its statements make queries, its records go through them, and what comes out is
compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from penstock.expressions.environment import Environment
from penstock.kernels.record import Headers
from penstock.kernels.serdes import SerdeError, to_bytes
from penstock.plan.errors import TopologyError
from penstock.sql import statements as s
from penstock.sql.engine import Engine, PersistentQuery
from penstock.sql.errors import SqlError
from penstock.sql.insert_values import NewRecord
from penstock.sql.lexer import split
from penstock.sql.lowering.sources import source_serdes
from penstock.sql.parsing import parse_statement
from penstock.sql.testing.cases import DEFAULT_PARTITIONS, Case, CaseRecord, read_cases
from penstock.sql.testing.comparing import differences
from penstock.sql.testing.driver import QueryDriver
from penstock.sql.testing.topics import Topics, shown, source_by_topic, unwrapped_key
from penstock.sql.variables import substituted

Stored = tuple[bytes | None, bytes | None, int, Headers]


@dataclass(frozen=True)
class Result:
    """How a case went. `differences` is empty if it passed."""

    name: str
    differences: tuple[str, ...] = ()
    log: tuple[str, ...] = field(default=(), compare=False)
    """The processing log: rows that were skipped, expressions that gave null."""

    @property
    def passed(self) -> bool:
        return not self.differences


class StatementFailed(ValueError):
    """A statement of a case that the engine refused."""


def run_file(path: Path | str) -> list[Result]:
    return [run_case(case) for case in read_cases(Path(path))]


def run_case(case: Case) -> Result:
    """How a case goes. Whatever happens within it is its own failure: the next case can still be run."""
    if case.problem is not None:
        return Result(case.name, (case.problem,))
    try:
        return _run(case)
    except Exception as error:
        return Result(case.name, (f"failed within Penstock: {type(error).__name__}: {error}",))


def _run(case: Case) -> Result:
    run = _Run(case)
    try:
        run.statements()
        run.records()
    except StatementFailed as error:
        return Result(case.name, _unexpected(case, str(error)), tuple(run.log))
    except (SqlError, SerdeError, TopologyError, RecursionError) as error:
        return Result(case.name, _unexpected(case, f"{error}"), tuple(run.log))
    if case.expected_error is not None:
        return Result(case.name, (f"no error, expected {case.expected_error!r}",), tuple(run.log))
    return Result(case.name, tuple(run.compared()), tuple(run.log))


def _unexpected(case: Case, message: str) -> tuple[str, ...]:
    if case.expected_error is None:
        return (f"error: {message.partition(chr(10) + 'Line: ')[0]}",)
    if case.expected_error in message:
        return ()
    return (f"error: {message.partition(chr(10) + 'Line: ')[0]}\n  expected: {case.expected_error}",)


def _rendered(error: SqlError, statement: str) -> str:
    """The error, and how ksqlDB writes it: with the statement, its place and the step that failed."""
    return "\n".join(
        [
            str(error),
            f"Statement: {statement}",
            f"Line: {error.line}, Col: {error.column}: {error.message}",
            f"Could not determine output schema for query due to error: {error.message}",
            f"Statement: {statement}",
        ]
    )


class _Run:
    def __init__(self, case: Case) -> None:
        self._case = case
        self._topics = Topics(case.topics)
        self.log: list[str] = []
        self._stored: dict[str, list[Stored]] = {}
        self._variables: dict[str, str] = {}
        self._engine = Engine(
            self._topics.serde_of,
            properties=case.properties,
            partitions=self._topics.partitions.get,
            infer=self._topics.infer,
            environment=Environment(lambda failure: self.log.append(failure.message), lambda: 0, Random(0)),
        )
        self._queries: list[PersistentQuery] = []

    def statements(self) -> None:
        for text in self._case.statements:
            for raw in split(text):
                try:
                    node = parse_statement(substituted(raw, self._variables))
                    self._execute(node)
                except SqlError as error:
                    raise StatementFailed(_rendered(error, raw.text)) from error
                except SerdeError as error:
                    raise StatementFailed(f"{error}\nStatement: {raw.text}") from error

    def _execute(self, node: s.Statement) -> None:
        if isinstance(node, s.DefineVariable):
            self._variables[node.name] = node.value
            return
        if isinstance(node, s.UndefineVariable):
            self._variables.pop(node.name, None)
            return
        outcome = self._engine.execute(node)
        if outcome.record is not None:
            self._insert(outcome.record)
        if isinstance(node, s.CreateAsSelect | s.InsertSelect) and outcome.query is not None:
            self._add(outcome.query)
        if outcome.source is not None:
            partitions = outcome.source.partitions or DEFAULT_PARTITIONS
            self._topics.partitions.setdefault(outcome.source.topic, partitions)

    def _add(self, query: PersistentQuery) -> None:
        """A query that replaces another runs in its place, before those that read what it makes."""
        for at, known in enumerate(self._queries):
            if known.id == query.id:
                self._queries[at] = query
                return
        self._queries.append(query)

    def _insert(self, record: NewRecord) -> None:
        source = record.source
        key_serde, value_serde = source_serdes(source, self._topics.serde_of)
        key = to_bytes(key_serde, source.topic, record.key)
        value = to_bytes(value_serde, source.topic, record.value)
        self._stored.setdefault(source.topic, []).append((key, value, record.timestamp, ()))

    def records(self) -> None:
        """Each query in the order of the statements; a later one reads what an earlier one wrote."""
        given = [record.topic for record in self._case.inputs]
        running = list(self._engine.queries.values())
        for query in self._queries:
            if query not in running:
                continue  # dropped or terminated
            driver = QueryDriver(query.plan, query.id, self.log.append)
            topics = [source.topic for source in query.query.sources]
            for record in self._case.inputs:
                if record.topic in topics:
                    self._pipe(driver, record.topic, self._encoded(record))
            for topic in dict.fromkeys(topics):
                if topic not in given:
                    for stored in list(self._stored.get(topic, ())):
                        self._pipe(driver, topic, stored)
            driver.close()

    def _encoded(self, record: CaseRecord) -> Stored:
        source = source_by_topic(self._engine.catalogue, record.topic)
        key, value = self._topics.encoded(record, source)
        return key, value, record.timestamp or 0, record.headers or ()

    def _pipe(self, driver: QueryDriver, topic: str, record: Stored) -> None:
        for made in driver.pipe(topic, *record):
            found = (made.key, made.value, made.timestamp, made.headers)
            self._stored.setdefault(made.topic, []).append(found)

    def compared(self) -> list[str]:
        """What differs, topic by topic, in the order of the records."""
        found: list[str] = []
        by_topic: dict[str, list[CaseRecord]] = {}
        for record in self._case.outputs:
            by_topic.setdefault(record.topic, []).append(record)
        for topic, expected in by_topic.items():
            found += self._compared_topic(topic, expected)
        return found

    def _compared_topic(self, topic: str, expected: list[CaseRecord]) -> list[str]:
        source = source_by_topic(self._engine.catalogue, topic)
        actual = self._stored.get(topic, [])
        found: list[str] = []
        decoded = [self._topics.decoded(topic, key, value, source) for key, value, _, _ in actual]
        for at, (wanted, (key, window, value), (_, _, time, headers)) in enumerate(
            zip(expected, decoded, actual, strict=False)
        ):
            wanted = replace(wanted, key=unwrapped_key(wanted.key, source))
            for difference in differences(wanted, key, window, value, time, headers):
                found.append(f"{topic} record {at}: {difference}")
        if len(actual) != len(expected):
            found.append(f"{topic}: Expected <{len(expected)}> records but it was <{len(actual)}>")
            for key, window, value in decoded[len(expected) :]:
                found.append(f"  more than expected: key {shown(key)}, value {shown(value)}, window {window}")
            for missing in expected[len(actual) :]:
                found.append(f"  missing: key {shown(missing.key)}, value {shown(missing.value)}")
        return found
