"""Cases of tests/sql_cases for a shared server: names of sources and topics that no other case has, and which
cases a cluster must answer exactly as the driver does.

The driver puts records in one by one. A cluster orders the records of several topics by their times, and a
repartition topic or the sink of another query on its way takes its own time. A case whose outcome may depend
on that is compared by the last record of each key, or left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Final

from penstock.expressions.environment import Environment, ignore
from penstock.sql import statements as s
from penstock.sql.engine import Engine, PersistentQuery
from penstock.sql.lexer import RawStatement, split, tokens
from penstock.sql.parsing import parse_statement
from penstock.sql.serdes.schemas import Schemas
from penstock.sql.testing.cases import Case, CaseRecord
from penstock.sql.testing.topics import Topics
from penstock.sql.variables import substituted

EXACT: Final = "records"
LAST: Final = "last record of each key"
_NAMES: Final = ("IDENTIFIER", "BACKTICK", "QUOTED")
_OWN_WAYS: Final = (
    "UNIX_TIMESTAMP", "UNIX_DATE", "RANDOM", "UUID", "PARTITIONS", "ROWPARTITION", "ROWOFFSET", "LANGUAGE",
    "DEFINE", "TERMINATE", "DROP", "_SCHEMA_ID", "KAFKA_TOPIC='${", "START AT", "${",
)  # fmt: skip
"""Words of cases whose outcome depends on the cluster, or whose names cannot be replaced here."""


@dataclass(frozen=True)
class RenamedCase:
    case: Case
    prefix: str
    engine: Engine
    topics: Topics
    queries: tuple[PersistentQuery, ...]
    compared: str

    @property
    def input_topics(self) -> list[str]:
        """The topics that must be there before the statements."""
        made = {query.sink.topic for query in self.queries}
        sources = {each.topic for each in self.engine.catalogue.sources.values()}
        return sorted((sources | {record.topic for record in self.case.inputs}) - made)


def renamed(case: Case, prefix: str, schemas: Schemas) -> RenamedCase | None:
    """None for a case that says nothing about a cluster."""
    text = " ".join(case.statements).upper()
    if case.expected_error is not None or not case.outputs or any(word in text for word in _OWN_WAYS):
        return None
    if any("VALUES" in each.upper() and "ROWTIME" not in each.upper() for each in case.statements):
        return None  # rows have the server's time
    found = _Names(case, prefix)
    if found.clash:
        return None
    case = found.case()
    if any(topic.key_schema or topic.value_schema for topic in case.topics):
        return None  # a real registry gives ids of its own, and asks for compatible schemas
    if any("prefix" in name for name in case.properties):
        return None  # names of topics that are made elsewhere than in the statements
    topics = Topics(())
    topics.schemas = schemas  # type: ignore[assignment]  # a real registry has the methods that serdes need
    engine = Engine(
        topics.serde_of,
        properties=case.properties,
        partitions=lambda name: 1,
        infer=topics.infer,
        environment=Environment(ignore, lambda: 0, Random(0)),
    )
    queries = []
    for raw in [each for text in case.statements for each in split(text)]:
        node = parse_statement(substituted(raw, {}))
        outcome = engine.execute(node)
        if isinstance(node, s.CreateAsSelect | s.InsertSelect) and outcome.query is not None:
            queries.append(outcome.query)
    compared = _comparable(case, queries)
    return None if compared is None else RenamedCase(case, prefix, engine, topics, tuple(queries), compared)


class _Names:
    """The names of one case, with a prefix before each."""

    def __init__(self, case: Case, prefix: str) -> None:
        self._case, self._prefix = case, prefix
        self._raw = [each for text in case.statements for each in split(text)]
        nodes = [parse_statement(substituted(raw, {})) for raw in self._raw]
        made = [node for node in nodes if isinstance(node, s.CreateSource | s.CreateAsSelect)]
        self._sources = {node.name for node in made}
        self._topics = {name for node in made for name in _topics(node)} | self._sources
        self._topics |= {record.topic for record in (*case.inputs, *case.outputs)}
        columns = {
            column.name for node in made if isinstance(node, s.CreateSource) for column in node.columns
        }
        self.clash = bool(columns & self._sources) or any(isinstance(n, s.CreateType) for n in nodes)

    def case(self) -> Case:
        return replace(
            self._case,
            statements=tuple(f"{self._statement(raw)};" for raw in self._raw),
            inputs=self._records(self._case.inputs),
            outputs=self._records(self._case.outputs),
            topics=tuple(replace(topic, name=self._prefix + topic.name) for topic in self._case.topics),
        )

    def _records(self, records: Sequence[CaseRecord]) -> tuple[CaseRecord, ...]:
        return tuple(replace(record, topic=self._prefix + record.topic) for record in records)

    def _statement(self, raw: RawStatement) -> str:
        text, at, made = raw.text, 0, []
        for token in tokens(raw):
            assert token.start_pos is not None
            assert token.end_pos is not None
            made.append(text[at : token.start_pos])
            made.append(self._word(token.type, text[token.start_pos : token.end_pos]))
            at = token.end_pos
        return "".join(made) + text[at:]

    def _word(self, kind: str, word: str) -> str:
        bare = word[1:-1]
        if kind == "STRING" and bare in self._topics:
            return f"'{self._prefix}{bare}'"
        if word[0] in '`"':
            return f"{word[0]}{self._prefix}{bare}{word[0]}" if bare in self._sources else word
        return self._prefix + word if word.upper() in self._sources else word


def _topics(node: s.CreateSource | s.CreateAsSelect) -> list[str]:
    found = [each.value for each in node.properties if each.name.upper() == "KAFKA_TOPIC"]
    return [str(getattr(value, "value", value)) for value in found]


def _comparable(case: Case, queries: Sequence[PersistentQuery]) -> str | None:
    """Exactly, by the last record of each key, or not at all."""
    given = {record.topic for record in case.inputs}
    sinks = [query.sink.topic for query in queries]
    shared = len(sinks) != len(set(sinks))
    compared = EXACT
    for query in queries:
        topics = {source.topic for source in query.query.sources}
        several = len(topics) > 1
        loops = bool(query.plan.internal_topics)
        if several and not loops and topics <= given and _in_order(case, topics):
            continue
        if several or shared:
            compared = LAST
        if compared == LAST and query.sink.kind != "TABLE":
            return None
    return compared


def _in_order(case: Case, topics: set[str]) -> bool:
    """Whether reading by times takes these records in the order that the case has."""
    latest: dict[str, int] = {}
    taken: list[tuple[int, str]] = []
    for record in case.inputs:
        if record.topic in topics:
            latest[record.topic] = max(latest.get(record.topic, 0), record.timestamp or 0)
            taken.append((latest[record.topic], record.topic))
    return all(
        one[0] < other[0] or (one[0] == other[0] and one[1] == other[1]) for one, other in pairwise(taken)
    )
