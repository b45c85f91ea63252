"""Topics of the cluster: looked up, and made where a statement asks for them. Blocking."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from penstock.client.admin import Admin
from penstock.client.errors import TopicExists
from penstock.client.metadata import TopicInfo
from penstock.sql import statements as s
from penstock.sql.engine import Outcome
from penstock.sql.errors import SqlError
from penstock.sql.properties import AS_SELECT, CREATE, Properties
from penstock.sql.sources import DataSource

HIDDEN: Final = ("_", "default_ksql_processing_log")
_INTERNAL: Final = ("-changelog", "-repartition")


class Topics:
    def __init__(self, admin: Admin, replicas: int) -> None:
        self.admin, self._replicas = admin, replicas

    def all(self) -> dict[str, TopicInfo]:
        return {topic.name: topic for topic in self.admin.describe()[1]}

    def partitions(self, names: set[str]) -> dict[str, int]:
        """Of those among the names that exist."""
        return {name: len(topic.partitions) for name, topic in self.all().items() if name in names}

    def ensure(self, node: s.Statement, outcome: Outcome) -> None:
        """Make the topic of a statement's source where the statement says how; refuse where it must exist."""
        source = outcome.source
        if source is None or outcome.skipped:
            return
        if isinstance(node, s.CreateSource):
            self._ensure_source(node, source)
        elif isinstance(node, s.CreateAsSelect):
            assert outcome.query is not None
            self._ensure_sink(node, source, outcome.query.query.first.topic)

    def _ensure_source(self, node: s.CreateSource, source: DataSource) -> None:
        given = Properties(node.properties, CREATE, node.at)
        partitions = given.number("PARTITIONS")
        known = self.all().get(source.topic)
        if known is not None:
            self._check_same(source.topic, known, partitions, given)
            return
        if partitions is None:
            raise SqlError(
                f"Topic '{source.topic}' does not exist. If you want to create a new topic for the "
                "stream/table please re-run the statement providing the required 'PARTITIONS' configuration "
                "in the WITH clause (and optionally 'REPLICAS' and 'RETENTION_MS').",
                *node.at,
            )
        self._create(source, partitions, given.number("REPLICAS"), given.number("RETENTION_MS", least=-1))

    def _check_same(self, topic: str, known: TopicInfo, partitions: int | None, given: Properties) -> None:
        found = len(known.partitions)
        if partitions is not None and partitions != found:
            raise SqlError(
                f"A Kafka topic with the name '{topic}' already exists, with different partition/replica "
                f"configuration than required. KSQL expects {partitions} partitions (topic has {found})",
                *given.place("PARTITIONS"),
            )

    def _ensure_sink(self, node: s.CreateAsSelect, sink: DataSource, first: str) -> None:
        given = Properties(node.properties, AS_SELECT, node.at)
        topics = self.all()
        if sink.topic in topics:
            self._check_same(sink.topic, topics[sink.topic], given.number("PARTITIONS"), given)
            return
        source = topics.get(first)
        partitions = given.number("PARTITIONS") or (len(source.partitions) if source else 1)
        replicas = given.number("REPLICAS")
        if replicas is None and source is not None and source.partitions:
            replicas = len(source.partitions[0].replicas)
        self._create(sink, partitions, replicas, given.number("RETENTION_MS", least=-1))

    def _create(
        self, source: DataSource, partitions: int, replicas: int | None, retention_ms: int | None
    ) -> None:
        configs = {} if retention_ms is None else {"retention.ms": str(retention_ms)}
        if source.kind == "TABLE":
            configs["cleanup.policy"] = "compact,delete" if source.window else "compact"
        with suppress(TopicExists):  # another server may be faster
            self.admin.create_topic(source.topic, partitions, replicas or self._replicas, configs)

    def listed(self, *, everything: bool) -> list[TopicInfo]:
        """What SHOW TOPICS lists: internal ones only with ALL."""
        return [
            topic
            for topic in sorted(self.all().values(), key=lambda each: each.name)
            if everything or not (topic.name.startswith(HIDDEN) or topic.name.endswith(_INTERNAL))
        ]


def topics_named(node: s.Statement, sources: dict[str, DataSource]) -> set[str]:
    """Topics whose number of partitions a statement may need."""
    found = {source.topic for source in sources.values()}
    if isinstance(node, s.CreateSource):
        given = Properties(node.properties, CREATE, node.at)
        topic = given.text("KAFKA_TOPIC")
        found |= {topic} if topic else set()
    return found
