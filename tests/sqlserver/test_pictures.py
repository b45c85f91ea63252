"""What EXPLAIN and SHOW QUERIES add to ksqlDB's answers: a picture of the plan, and skipped records."""

from __future__ import annotations

import json
from typing import Any

from penstock.sql.engine import Engine
from penstock.sql.parsing import parse
from penstock.sql.serdes.table import row_serde
from penstock.sqlserver.picture import picture
from penstock.sqlserver.skipped import Skipped, _add
from tests.sqlserver.servers import Server
from tests.sqlserver.test_statements import create

STATEMENTS = """
CREATE STREAM a (id INT KEY, v INT) WITH (kafka_topic='a', value_format='JSON');
CREATE STREAM b (id INT KEY, v INT) WITH (kafka_topic='b', value_format='JSON');
CREATE STREAM both AS SELECT * FROM a JOIN b WITHIN 1 SECOND ON a.id = b.id;
"""


def test_a_plan_is_drawn_from_its_sources_to_its_result() -> None:
    engine = Engine(lambda form, columns, is_key: row_serde(form, columns, is_key, None), partitions=_one)
    outcomes = [engine.execute(statement) for statement in parse(STATEMENTS)]
    query = outcomes[-1].query
    assert query is not None
    lines = picture(query.plan).splitlines()
    assert lines[1].split() == ["│", "Source", "│", "│", "Source", "│"]
    assert lines[3].split() == ["│", "topic", "a", "│", "│", "topic", "b", "│"]
    (joint,) = [
        line for line in lines if line.strip().startswith("└") and line.strip().endswith("┘") and "┬" in line
    ]
    below = lines[lines.index(joint) + 1]
    assert below.index("▼") == joint.index("┬")
    assert lines[-2].split() == ["│", "topic", "BOTH", "│"]
    assert all(line == line.rstrip() for line in lines)


def _one(topic: str) -> int:
    return 1


def test_explain_has_the_picture(server: Server, name: str) -> None:
    create(server, name)
    (answer,) = server.ksql(f"EXPLAIN SELECT id FROM {name} WHERE amount > 1 EMIT CHANGES;")
    assert "│ Filter" in answer["queryDescription"]["picture"]


def test_entries_of_the_processing_log_are_counted_by_query() -> None:
    found: dict[str, Skipped] = {}

    def entry(query: str, **message: Any) -> bytes:
        return json.dumps({"logger": f"processing.{query}.x", "message": message}).encode()

    _add(found, entry("CSAS_A_1", deserializationError={"errorMessage": "no JSON"}))
    _add(
        found, entry("CSAS_A_1", recordProcessingError={"errorMessage": "by zero"}, deserializationError=None)
    )
    _add(found, entry("CSAS_B_2", serializationError={"errorMessage": "x" * 1000}))
    for odd in (None, b"{", b"[]", b'{"logger": "x"}', b'{"logger": 5, "message": 6}'):
        _add(found, odd)
    assert found["CSAS_A_1"] == Skipped(records=1, failures=1, last="by zero")
    assert (found["CSAS_B_2"].records, len(found["CSAS_B_2"].last)) == (1, 300)
    assert len(found) == 2
