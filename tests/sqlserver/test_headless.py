"""Headless mode with a `ksql-server.properties` as people have it: the file's statements, once."""

from __future__ import annotations

from pathlib import Path

from tests.sqlserver.servers import running_server

PROPERTIES = """
# as ksqlDB's package installs it, with lines that people add
ksql.service.id=headless_
ksql.logging.processing.topic.auto.create=true
ksql.logging.processing.stream.auto.create=true
ksql.streams.state.dir={state}
ksql.streams.producer.acks=all
ksql.streams.num.standby.replicas=1
ksql.fail.on.deserialization.error=false
ksql.extension.dir=ext
confluent.support.metrics.enable=false
compression.type=snappy
producer.interceptor.classes=io.confluent.monitoring.clients.interceptor.MonitoringProducerInterceptor
"""
FIRST = """
DEFINE topic = 'headless';
CREATE STREAM headless (id INT KEY, v STRING)
  WITH (kafka_topic='${topic}', value_format='JSON', partitions=1);
INSERT INTO headless VALUES (1, 'a');
"""


def test_statements_of_a_file_are_executed_once(bootstrap_servers: str, tmp_path: Path) -> None:
    config, queries = tmp_path / "ksql-server.properties", tmp_path / "queries.sql"
    config.write_text(PROPERTIES.format(state=tmp_path / "state"))
    queries.write_text(FIRST)
    options = ("--config", str(config), "--queries-file", str(queries))
    with running_server(bootstrap_servers, *options) as server:
        assert server.rows("SELECT * FROM headless;") == [[1, "a"]]
        (streams,) = server.ksql("SHOW STREAMS;")
        assert [each["name"] for each in streams["streams"]] == ["HEADLESS", "KSQL_PROCESSING_LOG"]
    queries.write_text(f"{FIRST} CREATE TYPE later AS INT;")
    with running_server(bootstrap_servers, *options) as server:
        assert server.rows("SELECT * FROM headless;") == [[1, "a"]]
        assert list(server.ksql("SHOW TYPES;")[0]["types"]) == ["LATER"]
