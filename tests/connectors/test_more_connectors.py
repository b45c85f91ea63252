"""Files, MariaDB's log and MQTT into topics, and topics into Redis and over HTTP, all through one worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.test_kit import run_sink
from penstock.connect.connectors.mqtt.sink import MqttSink
from tests.connectors.servers import MariaDb, Mosquitto, Redis
from tests.connectors.web_server import WebServer
from tests.connectors.worker import Worker, eventually

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    running = Redis()
    yield running.start()
    running.close()


@pytest.fixture(scope="module")
def mosquitto() -> Iterator[Mosquitto]:
    running = Mosquitto()
    yield running.start()
    running.close()


@pytest.fixture
def web() -> Iterator[WebServer]:
    running = WebServer().start()
    yield running
    running.close()


def to_redis(redis: Redis, topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "RedisSinkConnector", "topics": topic, "redis.uri": redis.url,
        "redis.password": "secret", **JSON, **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip


def test_files_become_hashes_and_what_redis_cannot_take_is_a_dead_letter(
    worker: Worker, files: Path, redis: Redis
) -> None:
    (files / "rows").mkdir(exist_ok=True)
    (files / "rows" / "a.csv").write_text("".join(["id,name\n", *(f"{n},n{n}\n" for n in range(100))]))
    source = {
        "connector.class": "SpoolDirCsvSourceConnector", "input.path": str(files / "rows"), "topic": "rows",
        "csv.first.row.as.header": "true", "cleanup.policy": "MOVE", "finished.path": str(files / "done"),
        "transforms": "k,f", "transforms.k.type": "ValueToKey", "transforms.k.fields": "id",
        "transforms.f.type": "ExtractField$Key", "transforms.f.field": "id", **JSON,
    }  # fmt: skip
    worker.create("rows", source)
    worker.create("hashes", to_redis(redis, "rows", redis_command="HSET"))
    dead = to_redis(redis, "rows", redis_command="ZADD", redis_key="scores", errors_tolerance="all",
                    errors_deadletterqueue_topic_name="rows-dead",
                    errors_deadletterqueue_topic_replication_factor="1")  # fmt: skip
    worker.create("scores", dead)
    worker.create("letters", to_redis(redis, "rows-dead", redis_command="SADD", redis_key="letters"))
    client = redis.client()
    eventually(lambda: len(list(client.scan_iter("rows:*", count=1000))) == 100, "all hashes")
    assert client.hgetall("rows:7") == {"id": "7", "name": "n7"}
    eventually(lambda: client.scard("letters") == 100, "all dead letters")
    eventually(lambda: (files / "done" / "a.csv").exists(), "the file is moved")
    for name in ("rows", "hashes", "scores", "letters"):
        worker.call("DELETE", f"/connectors/{name}")


def test_mqtt_and_mariadb_reach_an_http_server(
    worker: Worker, mosquitto: Mosquitto, mariadb: MariaDb, web: WebServer
) -> None:
    mariadb.run("CREATE OR REPLACE TABLE more_users (id INT PRIMARY KEY)")
    mariadb.run("INSERT INTO more_users VALUES (1)")
    capture = {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector", "database.hostname": "127.0.0.1",
        "database.port": str(mariadb.port), "database.user": "root", "topic.prefix": "more",
        "table.include.list": r"shop\.more_users", "include.schema.changes": "false", **JSON,
    }  # fmt: skip
    messages = {
        "connector.class": "MqttSourceConnector", "mqtt.server.uri": mosquitto.url, "mqtt.topics": "in/#",
        "kafka.topic": "messages", "value.converter": "ByteArrayConverter",
    }  # fmt: skip
    posts = {
        "connector.class": "HttpSinkConnector", "topics": "more.shop.more_users,messages",
        "http.api.url": web.url + "/${topic}",
    }  # fmt: skip
    worker.create("capture", capture)
    worker.create("messages", messages)
    worker.create("posts", posts)

    def sent(number: int) -> bool:
        run_sink(MqttSink, {"mqtt.server.uri": mosquitto.url, "mqtt.topic": "in/x"},
                 [ConnectRecord("t", 0, None, None, f"m{number}", offset=0)])  # fmt: skip
        return any(each.path == "/messages" for each in web.asked)

    eventually(lambda: sent(1), "a message comes to the server")
    mariadb.run("INSERT INTO more_users VALUES (2)")

    def rows() -> list[int]:
        found = [json.loads(each.body) for each in web.asked if each.path == "/more.shop.more_users"]
        return [each["after"]["id"] for each in found]

    eventually(lambda: set(rows()) == {1, 2}, "both rows")
    assert rows() == [1, 2]
    for name in ("capture", "messages", "posts"):
        worker.call("DELETE", f"/connectors/{name}")
