"""Cases that are handed to a server as persistent queries: their inputs, their statements, how far their
queries have read, and the records that came out. What is compared, and how, is the test's."""

from __future__ import annotations

from penstock.client.admin import Admin
from penstock.client.direct import cluster_of
from penstock.client.groups import Groups
from penstock.client.librdkafka import Connection
from penstock.plan.raw_records import RawRecord
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record
from penstock.sql.testing.topics import source_by_topic
from penstock.sqlserver.topic_reading import TopicReader, starting_offsets
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer
from tests.sqlserver.renamed_cases import RenamedCase
from tests.sqlserver.servers import Server

GROUP = "_confluent-ksql-default_query_"
"""What stands before a query's id in the name of its group."""


class Refused(Exception):
    """A statement of the case that the server did not take, with its answer."""


class AskedCases:
    def __init__(self, bootstrap_servers: str, server: Server) -> None:
        self._server = server
        self._admin = Admin(bootstrap_servers)
        self._groups = Groups(self._admin)
        self._connection = Connection(bootstrap_servers, 30)
        self._cluster = cluster_of(self._connection)
        self._query_ids: dict[str, list[str]] = {}
        """By the case's prefix, in the order of its statements."""

    def begin(self, chosen: RenamedCase) -> None:
        for topic in chosen.input_topics:
            self._admin.create_topic(topic, 1, 1, {"retention.ms": "-1"})
        producer = Producer(self._cluster)  # librdkafka takes the time 0 for none
        for record in chosen.case.inputs:
            source = source_by_topic(chosen.engine.catalogue, record.topic)
            key, value = chosen.topics.encoded(record, source)
            made = Record(key, value, record.headers or (), record.timestamp or 0)
            producer.send(TopicPartition(record.topic, 0), pack_records([made]))
        producer.flush()
        given = {**chosen.case.properties, "auto.offset.reset": "earliest"}
        ids = self._query_ids[chosen.prefix] = []
        for statement in chosen.case.statements:
            answer = self._server.client.post("/ksql", json={"ksql": statement, "streamsProperties": given})
            if answer.status_code != 200:
                raise Refused(f"{statement}: {answer.text}")
            statuses = [entity.get("commandStatus") or {} for entity in answer.json()]
            ids += [status["queryId"] for status in statuses if status.get("queryId")]
        assert len(ids) == len(chosen.queries), f"queries {ids} for {len(chosen.queries)} statements"

    def unread(self, chosen: RenamedCase) -> dict[str, int]:
        """By query and topic, how many records are left. Empty when every query has committed the end of all
        that it reads, so that no more records come: a query that reads another's sink is asked later."""
        left: dict[str, int] = {}
        for query_id, query in zip(self._query_ids[chosen.prefix], chosen.queries, strict=True):
            sources = {topic for _, source in query.plan.sources for topic in source.topics}
            places = [(topic, 0) for topic in sorted(sources - query.plan.internal_names)]
            group = GROUP + query_id
            committed = self._groups.committed_of_all([group]).get(group, {})
            ends = self._admin.end_offsets(places)
            for place in places:
                if (count := ends[place] - committed.get(place, 0)) > 0:
                    left[f"{query_id} {place[0]}"] = count
        return left

    def records(self, topic: str) -> list[RawRecord]:
        starts = starting_offsets(self._admin, (topic,), "earliest")
        found: list[RawRecord] = []
        with TopicReader(self._connection, starts) as reader:
            while not reader.at_end:
                found += reader.poll(1)
        return found

    def end(self, group: list[RenamedCase]) -> None:
        """Every query of these cases, those of INSERT INTO too."""
        for each in group:
            for query_id in self._query_ids.get(each.prefix, ()):
                self._server.ksql(f"TERMINATE {query_id};")
