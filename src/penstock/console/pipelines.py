"""Everything that moves records, as one graph: groups, SQL queries, connectors, and the topics between. Pure.

It is made of what the services publish: groups and what they have committed, the queries of SQL, the
connectors of Connect with the topics that they have used. A Streams application is a group whose name its
own topics begin with; what it writes besides is known where SQL or Connect says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from penstock.console.batch_stats import Batches, BatchStats
from penstock.console.connector_catalogue import Connector
from penstock.console.graph_layout import Edge, Graph, Node
from penstock.console.group_stats import AllGroups, GroupStats
from penstock.console.overview import Overview
from penstock.console.sql_client import SqlState
from penstock.console.wording import UNKNOWN, bytes_text, rate, seconds

LATE_S = 60.0
INNER = ("-changelog", "-repartition")
"""Ends of the names of topics that a Streams application keeps for itself."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One line of the table, and one node of the graph."""

    name: str
    kind: str
    state: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    lag: int | None = None
    seconds: float | None = None
    error: str = ""
    href: str = ""
    members: int = 0
    group: str = field(default="")
    batches: BatchStats | None = None
    """What the process that runs it publishes, where that is known."""

    @property
    def tone(self) -> str:
        if self.error or self.state in ("FAILED", "ERROR"):
            return "bad"
        late = self.seconds is not None and self.seconds > LATE_S and bool(self.lag)
        pressed = self.batches is not None and self.batches.is_pressed
        return "warn" if late or pressed or self.state in ("PAUSED", "STOPPED", "EMPTY") else "good"


def pipelines(
    overview: Overview | None,
    groups: AllGroups | None,
    sql: SqlState | None,
    connectors: Iterable[Connector],
    used_topics: Mapping[str, Iterable[str]],
    batches: Batches,
) -> list[Pipeline]:
    """`used_topics` are those of each connector, as Connect reports them; `batches` are by pipeline."""
    by_name = {group.info.group_id: group for group in groups.groups} if groups else {}
    topics = [topic.name for topic in overview.topics] if overview else []
    taken: set[str] = set()
    found = []
    for query in sql.queries if sql else ():
        group = _group_of_query(query.query_id, by_name)
        taken |= {group.info.group_id} if group else set()
        reads, writes = (_topics(sql, names) for names in (query.sources, query.sinks))
        found.append(_pipeline(query.query_id, "query", query.state, reads, writes, group, "/sql",
                               "the query failed" if query.failed else ""))  # fmt: skip
    for connector in connectors:
        group = by_name.get(f"connect-{connector.name}")
        taken |= {group.info.group_id} if group else set()
        used = tuple(sorted(used_topics.get(connector.name, ())))
        reads, writes = (used, ()) if connector.kind == "sink" else ((), used)
        page = f"/connectors/{quote(connector.name, safe='')}"
        state = "FAILED" if connector.failed else connector.state
        found.append(_pipeline(connector.name, "connector", state, reads, writes, group, page,
                               connector.error))  # fmt: skip
    for name, group in by_name.items():
        if name not in taken and group.topics:
            inner = [topic for topic in topics if topic.startswith(f"{name}-") and topic.endswith(INNER)]
            kind = "streams" if inner else "group"
            page = f"/groups/{quote(name, safe='')}"
            found.append(
                _pipeline(name, kind, group.info.state, tuple(group.topics), tuple(inner), group, page)
            )
    found = [_with_batches(each, batches) for each in found]
    shown = {each.batches.pipeline for each in found if each.batches is not None}
    return [*found, *(_of_spark(stats) for name, stats in batches.items() if name not in shown)]


def _with_batches(found: Pipeline, batches: Batches) -> Pipeline:
    """Streams applications and queries of SQL publish their numbers under the name of their group."""
    stats = batches.get(found.group or found.name)
    return found if stats is None else replace(found, batches=stats, href=page_of(found.name))


def _of_spark(stats: BatchStats) -> Pipeline:
    """A query that a person runs on Spark; it has no group, but it says what it reads."""
    topics = tuple(sorted({topic for topic, _, _ in stats.lags}))
    lag = sum(each for _, _, each in stats.lags) if stats.lags else None
    state = "RUNNING" if stats.up else "STOPPED"
    page = page_of(stats.pipeline)
    return Pipeline(stats.pipeline, "spark", state, topics, (), lag, href=page, batches=stats)


def page_of(name: str) -> str:
    return f"/pipelines/{quote(name, safe='')}"


def pipeline_graph(found: Iterable[Pipeline], overview: Overview | None) -> Graph:
    nodes: dict[str, Node] = {}
    edges: list[Edge] = []
    for each in found:
        name = f"{each.kind} {each.name}"
        lag = "" if each.lag is None else f"{each.lag:,} behind"
        detail = each.error or " · ".join(filter(None, (each.state.lower(), lag, *_load(each.batches))))
        nodes[name] = Node(name, each.name, each.kind, detail, each.href, each.tone)
        for topic in each.reads:
            speed = _rate(overview, topic)
            edges.append(Edge(_topic(topic, nodes, overview), name, _label(speed), speed, each.tone))
        for topic in each.writes:
            if topic not in each.reads:  # its own repartition topics would only draw a loop
                speed = _rate(overview, topic)
                edges.append(Edge(name, _topic(topic, nodes, overview), _label(speed), speed, each.tone))
        if each.kind == "connector":
            system = f"system {each.name}"
            nodes[system] = Node(system, "outside", "system", "")
            edges.append(Edge(name, system) if each.reads else Edge(system, name))
    return Graph(tuple(nodes.values()), tuple(edges))


def _pipeline(
    name: str,
    kind: str,
    state: str,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    group: GroupStats | None,
    href: str,
    error: str = "",
) -> Pipeline:
    late = group.behind if group else None
    return Pipeline(
        name,
        kind,
        state,
        reads,
        writes,
        group.lag if group else None,
        late.seconds if late else None,
        error,
        href,
        len(group.info.members) if group else 0,
        group.info.group_id if group else "",
    )


def _group_of_query(query_id: str, groups: Mapping[str, GroupStats]) -> GroupStats | None:
    """SQL names the group of a query after its service and the query's id."""
    return next((group for name, group in groups.items() if name.endswith(query_id)), None)


def _load(stats: BatchStats | None) -> list[str]:
    """What a batch takes and what state there is, in short words."""
    if stats is None or stats.seconds is None:
        return []
    state = f"{bytes_text(stats.state_bytes)} state" if stats.state_bytes else ""
    return [f"{seconds(stats.seconds)} a batch", state, "cannot keep up" if stats.is_pressed else ""]


def _topics(sql: SqlState | None, names: Iterable[str]) -> tuple[str, ...]:
    """The topics behind streams and tables."""
    return tuple(filter(None, (sql.topic_of(name) for name in names))) if sql else ()


def _topic(topic: str, nodes: dict[str, Node], overview: Overview | None) -> str:
    name = f"topic {topic}"
    stats = overview.topic(topic) if overview else None
    detail = f"{rate(stats.records_per_second) if stats else UNKNOWN} records/s"
    page = f"/topics/{quote(topic, safe='')}"
    nodes.setdefault(name, Node(name, topic, "topic", detail, page))
    return name


def _rate(overview: Overview | None, topic: str) -> float | None:
    stats = overview.topic(topic) if overview else None
    return stats.records_per_second if stats else None


def _label(speed: float | None) -> str:
    return "" if not speed else f"{rate(speed)}/s"
