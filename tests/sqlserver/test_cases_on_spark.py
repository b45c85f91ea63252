"""Cases of tests/sql_cases as persistent queries of one server: Spark gives what the driver gives."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.client.admin import Admin
from penstock.client.direct import cluster_of
from penstock.client.librdkafka import Connection
from penstock.plan.raw_records import RawRecord
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record
from penstock.sql.testing import Case, read_cases
from penstock.sql.testing.comparing import differences, same
from penstock.sql.testing.topics import source_by_topic
from penstock.sqlserver.registry import RegistryAt
from penstock.sqlserver.topic_reading import TopicReader, starting_offsets
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer
from tests.sqlserver.renamed_cases import EXACT, RenamedCase, renamed
from tests.sqlserver.servers import Server

pytestmark = [pytest.mark.timeout(3600), pytest.mark.long]
FILES = sorted((Path(__file__).parent.parent / "sql_cases" / "cases").glob("*.json"))
LONG, SHORT, AT_ONCE = 200, 5, 10
WITHIN_S, BEHIND_OTHERS_S = 300.0, 180.0
"""How long a group may take, and how long its other cases after one of them is there."""
FEW = {"aggregates": 1, "stream_joins": 1, "table_joins": 1, "windows": 1, "formats": 1}
"""Files of the short form."""


def sample(random: Random, *, long_form: bool) -> list[tuple[str, Case]]:
    """Long: every file in turn, as many as asked for and some in reserve. Short: one of a few files."""
    by_file = {path.stem: read_cases(path) for path in FILES}
    for cases in by_file.values():
        random.shuffle(cases)
    if not long_form:
        return [(name, case) for name in FEW for case in by_file[name]]
    rounds = max(map(len, by_file.values()))
    return [(name, cases[at]) for at in range(rounds) for name, cases in by_file.items() if at < len(cases)]


class Asked:
    """Cases that were handed to the server."""

    def __init__(self, bootstrap_servers: str, server: Server) -> None:
        self._bootstrap_servers, self._server = bootstrap_servers, server
        self._admin = Admin(bootstrap_servers)
        self._connection = Connection(bootstrap_servers, 30)
        self._cluster = cluster_of(self._connection)

    def begin(self, chosen: RenamedCase) -> list[str]:
        """Why the server refused it, if it did."""
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
        for statement in chosen.case.statements:
            answer = self._server.client.post("/ksql", json={"ksql": statement, "streamsProperties": given})
            if answer.status_code != 200:
                return [f"{statement}: {answer.text}"]
        return []

    def records(self, topic: str) -> list[RawRecord]:
        starts = starting_offsets(self._admin, (topic,), "earliest")
        found: list[RawRecord] = []
        with TopicReader(self._connection, starts) as reader:
            while not reader.at_end:
                found += reader.poll(1)
        return found

    def end(self, group: list[RenamedCase]) -> None:
        """Every query of these cases, those of INSERT INTO too."""
        made = {topic for each in group for topic in (query.sink.topic for query in each.queries)}
        for line in self._server.ksql("SHOW QUERIES;")[0]["queries"]:
            if made & set(line["sinkKafkaTopics"]):
                self._server.ksql(f"TERMINATE {line['id']};")


def found_differences(chosen: RenamedCase, asked: Asked) -> list[str]:
    """As the driver's results are compared: topic by topic."""
    found: list[str] = []
    for topic in dict.fromkeys(record.topic for record in chosen.case.outputs):
        source = source_by_topic(chosen.engine.catalogue, topic)
        wanted = [record for record in chosen.case.outputs if record.topic == topic]
        actual = [(each, *_decoded(chosen, topic, each, source)) for each in asked.records(topic)]
        if chosen.compared != EXACT:
            wanted = list({repr((each.key, each.window)): each for each in wanted}.values())
            actual = list({repr(each[1:3]): each for each in actual}.values())
            actual.sort(key=lambda each: next((i for i, w in enumerate(wanted) if same(each[1], w.key)), 99))
        for at, (record, (raw, key, window, value)) in enumerate(zip(wanted, actual, strict=False)):
            parts = differences(record, key, window, value, raw.timestamp, raw.headers)
            if chosen.compared != EXACT:
                parts = [part for part in parts if not part.startswith("timestamp")]
            found += [f"{topic} record {at}: {part}" for part in parts]
        if len(actual) != len(wanted):
            found.append(f"{topic}: {len(actual)} records for {len(wanted)}: {[each[1:] for each in actual]}")
    return found


def _decoded(chosen: RenamedCase, topic: str, raw: RawRecord, source: Any) -> tuple[Any, Any, Any]:
    key, window, value = chosen.topics.decoded(topic, raw.key, raw.value, source)
    return key, window, _plain(value, chosen.prefix)


def _plain(value: Any, prefix: str) -> Any:
    """Columns of SELECT * in a join are named after their sources."""
    if isinstance(value, dict):
        return {name.replace(prefix, ""): _plain(each, prefix) for name, each in value.items()}
    return [_plain(each, prefix) for each in value] if isinstance(value, list) else value


def test_spark_gives_what_the_driver_gives(
    cluster: tuple[str, str], spark_server: Server, seed: int, long_form: bool
) -> None:
    schemas, asked = RegistryAt(cluster[1]), Asked(cluster[0], spark_server)
    chosen: list[RenamedCase] = []
    files: set[str] = set()
    for number, (file, case) in enumerate(sample(Random(seed), long_form=long_form)):
        if len(chosen) == (LONG if long_form else SHORT) or (not long_form and file in files):
            continue
        made = renamed(case, f"C{number}X_", schemas)
        if made is not None:
            chosen.append(made)
            files.add(file)
    assert len(chosen) == (LONG if long_form else SHORT)
    wrong: dict[str, list[str]] = {}
    for at in range(0, len(chosen), AT_ONCE):
        wrong |= group_differences(chosen[at : at + AT_ONCE], asked)
        print(f"{min(at + AT_ONCE, len(chosen))} cases, {len(wrong)} differ: {wrong}", flush=True)
    shown = "\n".join(f"{name}: {line}" for name, lines in wrong.items() for line in lines)
    assert not wrong, f"seed {seed}: {len(wrong)} of {len(chosen)} cases differ\n{shown}"


def group_differences(group: list[RenamedCase], asked: Asked) -> dict[str, list[str]]:
    """What is wrong, by the case's name: refused statements, records that differ or cannot be read."""
    wrong = {f"{each.prefix} {each.case.name}": found for each in group if (found := begun(each, asked))}
    waiting = [each for each in group if f"{each.prefix} {each.case.name}" not in wrong]
    left, deadline = list(waiting), time.monotonic() + WITHIN_S
    while left and time.monotonic() < deadline:
        still = [each for each in left if seen_differences(each, asked)]
        if len(still) < len(left):
            deadline = min(deadline, time.monotonic() + BEHIND_OTHERS_S)
        left = still
        time.sleep(0.3)
    for each in waiting:
        if found := seen_differences(each, asked):  # more than expected may have come meanwhile
            wrong[f"{each.prefix} {each.case.name}"] = found
    asked.end(group)
    return wrong


def begun(chosen: RenamedCase, asked: Asked) -> list[str]:
    try:
        return asked.begin(chosen)
    except Exception as error:  # one case must not end the others
        return [f"not begun: {error!r}"]


def seen_differences(chosen: RenamedCase, asked: Asked) -> list[str]:
    try:
        return found_differences(chosen, asked)
    except Exception as error:  # the topic is not there yet, or its records cannot be read
        return [f"not read: {error!r}"]
