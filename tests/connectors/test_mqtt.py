"""MQTT source and sink against Debian's mosquitto."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.source import SourceOffsets, SourceRecord
from penstock.connect.api.test_kit import run_sink
from penstock.connect.connectors.mqtt.inbox import WAITING_MAX, Inbox
from penstock.connect.connectors.mqtt.sink import MqttSink
from penstock.connect.connectors.mqtt.source import MqttSource
from penstock.connect.errors import DataError, RetriableError
from tests.connectors.servers import Mosquitto, await_true


@pytest.fixture(scope="module")
def server() -> Iterator[Mosquitto]:
    running = Mosquitto()
    yield running.start()
    running.close()


def settings(server: Mosquitto, **more: str) -> dict[str, str]:
    config = {"name": "m", "mqtt.server.uri": server.url, "max.retries": "3", "retry.backoff.ms": "20"}
    return config | {name.replace("_", "."): value for name, value in more.items()}


class Reading:
    """The source as a worker drives it: a batch, then its commit."""

    def __init__(self, server: Mosquitto, **more: str) -> None:
        self.config = settings(server, mqtt_topics="in/#", kafka_topic="t", **more)
        self.source = MqttSource(self.config)
        self.offsets = SourceOffsets()
        self.source.has_news(self.offsets)

    def batch(self, *, commits: bool = True) -> list[ConnectRecord]:
        task = MqttSource.TASK({**self.config, **self.source.handed(0)}, self.offsets)
        found: list[SourceRecord] = list(task.poll())
        if found and commits:
            self.offsets = self.offsets.advanced([(each.partition, each.offset) for each in found])
            self.source.committed(self.offsets)
        return [each.record for each in found if each.record is not None]

    def until(self, count: int) -> list[bytes]:
        found: list[bytes] = []

        def enough() -> bool:
            found.extend(each.value for each in self.batch())
            return len(found) >= count

        await_true(enough, f"{count} messages", 60)
        return found


def publish(server: Mosquitto, *payloads: str, topic: str = "in/a", **more: str) -> None:
    records = [ConnectRecord("in/x", 0, None, None, each, None, offset=n) for n, each in enumerate(payloads)]
    run_sink(MqttSink, settings(server, mqtt_topic=topic, **more), records)


def test_messages_come_once_and_what_was_not_committed_comes_again(server: Mosquitto) -> None:
    first = Reading(server, mqtt_client_id="again")
    await_true(lambda: first.source._client.is_connected(), "connected", 60)
    publish(server, *map(str, range(50)))  # more than the broker sends before it waits
    assert sorted(first.until(50), key=int) == [str(number).encode() for number in range(50)]
    publish(server, "x", "y")
    await_true(lambda: len(first.source._inbox) == 2, "two messages", 60)
    [record, _] = first.batch(commits=False)
    assert (record.topic, record.key, record.value) == ("t", "in/a", b"x")
    assert {each.key: each.value for each in record.headers}["mqtt.qos"] == 1
    assert [each.value for each in first.batch(commits=False)] == [b"x", b"y"]
    first.source.close()  # as a worker that dies: nothing was confirmed
    publish(server, "z")  # and what comes meanwhile is kept
    later = Reading(server, mqtt_client_id="again")
    found: set[bytes] = set()  # others may come again, too: the broker may not have read every confirmation
    await_true(lambda: found.update(later.until(1)) or found >= {b"x", b"y", b"z"}, "all three", 60)
    later.source.close()


def test_messages_of_quality_two_that_were_not_committed_come_again(server: Mosquitto) -> None:
    first = Reading(server, mqtt_client_id="two", mqtt_qos="2")
    await_true(lambda: first.source._client.is_connected(), "connected", 60)
    sent = [str(number) for number in range(15)]  # mosquitto 2.0.11 itself loses sight of more than 20
    publish(server, *sent, mqtt_qos="2")
    await_true(lambda: len(first.source._inbox) == 15, "all of them", 60)
    assert len(first.batch(commits=False)) == 15
    first.source.close()
    later = Reading(server, mqtt_client_id="two", mqtt_qos="2")
    found: set[bytes] = set()
    await_true(lambda: found.update(later.until(1)) or len(found) == 15, "all messages", 60)
    assert found == {each.encode() for each in sent}
    publish(server, "last", mqtt_qos="2")  # the confirmations were whole: the broker goes on
    assert later.until(1) == [b"last"]
    later.source.close()


def test_a_broker_that_is_killed_is_found_again(server: Mosquitto) -> None:
    reading = Reading(server, mqtt_client_id="killed")
    await_true(lambda: reading.source._client.is_connected(), "connected", 60)
    publish(server, "before")
    assert reading.until(1) == [b"before"]
    server.kill()
    server.start()

    def arrives() -> bool:
        publish(server, "after")
        return b"after" in [each.value for each in reading.batch()]

    await_true(arrives, "messages after the broker came back", 60)
    reading.source.close()


def test_the_sink_writes_json_texts_and_nothing(server: Mosquitto) -> None:
    reading = Reading(server, mqtt_client_id="kinds", mqtt_qos="2")
    await_true(lambda: reading.source._client.is_connected(), "connected", 60)
    values: list[Any] = [{"a": [1, None]}, "text", b"\x00\xff", 7, None]
    records = [ConnectRecord("t", 0, f"k{n}", None, value, None, offset=n) for n, value in enumerate(values)]
    run_sink(MqttSink, settings(server, mqtt_topic="in/${topic}/${key}", mqtt_qos="2"), records)
    found = reading.until(5)
    assert json.loads(found[0]) == {"a": [1, None]}
    assert found[1:] == [b"text", b"\x00\xff", b"7", b""]
    reading.source.close()


def test_what_is_no_topic_is_rejected_and_an_absent_broker_may_come_back(server: Mosquitto) -> None:
    bad = ConnectRecord("t", 0, "a/#", None, "x", None, offset=0)
    with pytest.raises(DataError, match="no MQTT topic"):
        run_sink(MqttSink, settings(server, mqtt_topic="in/${key}"), [bad])
    away = settings(server, mqtt_server_uri="tcp://127.0.0.1:1")
    with pytest.raises(RetriableError):
        run_sink(MqttSink, away, [bad])
    source = MqttSource({**away, "mqtt.topics": "a"})
    assert not source.has_news(SourceOffsets())


def test_every_mistake_is_reported(server: Mosquitto) -> None:
    for uri in ("http://x", "tcp://169.254.169.254", "tcp://u:p@localhost"):
        assert [name for name, _ in MqttSink.check(settings(server, mqtt_server_uri=uri))] == [
            "mqtt.server.uri"
        ]
    bad = settings(server, mqtt_ssl_key_store_path="k", mqtt_clean_session_enabled="true")
    assert {name for name, _ in MqttSource.check(bad)} == {
        "mqtt.ssl.key.store.path",
        "mqtt.clean.session.enabled",
    }
    assert "mqtt.password" in MqttSource.CONFIG.secret


def test_an_inbox_forgets_what_comes_again_and_is_bounded() -> None:
    inbox, confirmed = Inbox(), []
    for number in range(3):
        inbox.add(number, 1, False, False, "t", b"%d" % number)
    assert [each.payload for each in inbox.handed()] == [b"0", b"1", b"2"]
    inbox.add(9, 1, False, False, "t", b"later")
    inbox.connected(session_present=True)
    inbox.add(1, 1, False, True, "t", b"1")  # sent again while its batch runs
    inbox.add(9, 1, False, True, "t", b"later")
    inbox.done(2, lambda each: confirmed.append(each.mid))
    assert confirmed == [0, 1]
    inbox.done(3, lambda each: confirmed.append(each.mid))
    assert [each.payload for each in inbox.handed()] == [b"later"]
    flooded = Inbox()
    for _ in range(WAITING_MAX + 5):
        flooded.add(0, 0, False, False, "t", b"")
    assert len(flooded) == WAITING_MAX


def test_a_broker_that_lost_the_session_gets_no_confirmation_of_what_it_sent_before() -> None:
    inbox, confirmed = Inbox(), []
    inbox.connected(session_present=False)
    inbox.add(1, 1, False, False, "t", b"handed")
    assert [each.payload for each in inbox.handed()] == [b"handed"]
    inbox.add(2, 1, False, False, "t", b"waiting")
    inbox.connected(session_present=False)
    inbox.add(1, 1, False, False, "t", b"new")  # the new session counts from one again
    inbox.done(1, lambda each: confirmed.append(each.payload))
    assert confirmed == []
    assert [each.payload for each in inbox.handed()] == [b"waiting", b"new"]
    inbox.done(3, lambda each: confirmed.append(each.payload))
    assert confirmed == [b"new"]
