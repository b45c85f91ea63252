"""Fetch through the broker: sessions in every version that has them, limits, and what is answered to bad
requests."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from penstock.handlers.reply import Wait
from penstock.protocol.apis import Api
from penstock.protocol.messages import read_response
from tests.handlers.one_node import OneNode, body_of

WITH_SESSIONS = [7, 11, 12, 13, 17, 18]


class Client:
    """Names topics as the version wants it."""

    def __init__(self, node: OneNode, version: int, ids: dict[str, bytes]) -> None:
        self.node = node
        self.version = version
        self._ids = ids
        self._names = {uuid.UUID(bytes=topic_id): name for name, topic_id in ids.items()}

    def fields(self, wanted: dict[tuple[str, int], int], **more: Any) -> dict[str, Any]:
        topics = [
            {
                "topic": topic,
                "topic_id": self._ids.get(topic, b"\x07" * 16),
                "partitions": [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 10_000}],
            }
            for (topic, index), offset in wanted.items()
        ]
        forgotten = [
            {"topic": topic, "topic_id": self._ids[topic], "partitions": [index]}
            for topic, index in more.pop("forgotten", ())
        ]
        limits = {"max_wait": 0, "min_bytes": 1, "max_bytes": 100_000, "replica_id": -1}
        return {**limits, "topics": topics, "forgotten_topics_data": forgotten, **more}

    def fetch(self, wanted: dict[tuple[str, int], int], **more: Any) -> tuple[int, int, dict[Any, Any]]:
        """Error, session id and the partitions of the answer."""
        answer = self.node.ask(Api.FETCH, self.version, **self.fields(wanted, **more))
        found = {}
        for topic in answer.responses:
            name = topic.topic if self.version < 13 else self._names.get(topic.topic_id, "?")
            found.update({(name, part.partition_index): part for part in topic.partitions})
        return int(getattr(answer, "error_code", 0)), getattr(answer, "session_id", 0), found


@pytest.fixture
def node() -> OneNode:
    return OneNode()


@pytest.fixture
def ids(node: OneNode) -> dict[str, bytes]:
    return {name: node.create_topic(name, 2) for name in ("t", "u")}


@pytest.mark.parametrize("version", WITH_SESSIONS)
def test_a_session_tells_what_is_new_and_nothing_else(
    node: OneNode, ids: dict[str, bytes], version: int
) -> None:
    client = Client(node, version, ids)
    everything = {("t", 0): 0, ("t", 1): 0, ("u", 0): 0}
    error, session_id, found = client.fetch(everything, session_id=0, session_epoch=0)
    assert (error, found.keys()) == (0, everything.keys())
    assert session_id > 0

    assert client.fetch({}, session_id=session_id, session_epoch=1) == (0, session_id, {})
    node.append("t", [b"x"], partition=1)
    _, _, found = client.fetch({}, session_id=session_id, session_epoch=2)
    assert found.keys() == {("t", 1)}
    assert found["t", 1].high_watermark == 1
    assert len(found["t", 1].records) > 0

    moved = {("t", 1): 1, ("u", 1): 0}
    _, _, found = client.fetch(moved, session_id=session_id, session_epoch=3)
    assert found.keys() == {("u", 1)}, "a partition that is new to the session is told once"
    node.append("u", [b"x"], partition=0)
    gone = [("u", 0)]
    assert client.fetch({}, session_id=session_id, session_epoch=4, forgotten=gone)[2] == {}

    assert client.fetch({}, session_id=session_id, session_epoch=4)[0] == 71
    assert client.fetch({}, session_id=session_id + 1, session_epoch=5)[0] == 70


@pytest.mark.parametrize("version", [4, 6, *WITH_SESSIONS])
def test_a_request_without_session_is_answered_in_full(
    node: OneNode, ids: dict[str, bytes], version: int
) -> None:
    client = Client(node, version, ids)
    for _ in range(2):
        assert client.fetch({("t", 0): 0}) == (0, 0, client.fetch({("t", 0): 0})[2])
    assert len(node.broker.fetch_sessions) == 0


def test_a_session_by_id_refuses_names_and_the_other_way_round(node: OneNode, ids: dict[str, bytes]) -> None:
    for first, second in ((12, 13), (13, 12)):
        _, session_id, _ = Client(node, first, ids).fetch({("t", 0): 0}, session_id=0, session_epoch=0)
        answer = Client(node, second, ids).fetch({}, session_id=session_id, session_epoch=1)
        assert answer == (106, 0, {})


def test_a_topic_that_goes_and_comes_back_is_another_one(node: OneNode, ids: dict[str, bytes]) -> None:
    client = Client(node, 13, ids)
    _, session_id, _ = client.fetch({("t", 0): 0, ("u", 0): 0}, session_id=0, session_epoch=0)
    delete = {"topics": [{"name": "t", "topic_id": None}], "timeout": 1000}
    node.ask(Api.DELETE_TOPICS, 6, **delete)
    node.create_topic("t")
    for epoch in (1, 2):
        _, _, found = client.fetch({}, session_id=session_id, session_epoch=epoch)
        assert {place: int(part.error_code) for place, part in found.items()} == {("t", 0): 100}


def test_a_waiting_request_of_a_session_is_woken_by_an_append(node: OneNode, ids: dict[str, bytes]) -> None:
    client = Client(node, 12, ids)
    _, session_id, _ = client.fetch({("t", 0): 0, ("t", 1): 0}, session_id=0, session_epoch=0)
    fields = client.fields({}, session_id=session_id, session_epoch=1, max_wait=5000)
    waiting = node.submit(Api.FETCH, 12, **fields)
    assert isinstance(waiting, Wait)
    node.append("t", [b"x"])
    reply = waiting.resume(False)
    assert not isinstance(reply, Wait)
    (topic,) = read_response(Api.FETCH, 12, body_of(reply)).responses
    assert [part.partition_index for part in topic.partitions] == [0]


def test_a_waiting_request_goes_on_waiting_until_something_changes_or_the_deadline_comes(
    node: OneNode, ids: dict[str, bytes]
) -> None:
    client = Client(node, 12, ids)
    waiting = node.submit(Api.FETCH, 12, **client.fields({("t", 0): 0, ("u", 1): 0}, max_wait=5000))
    assert isinstance(waiting, Wait)
    again = waiting.resume(False)
    assert isinstance(again, Wait)
    assert again.deadline == waiting.deadline
    node.append("u", [b"x"])  # to partition 0, which nobody asked for
    again = again.resume(False)
    assert isinstance(again, Wait)
    assert not isinstance(again.resume(True), Wait)


def test_a_consumer_that_waits_gives_way_to_producers(node: OneNode, ids: dict[str, bytes]) -> None:
    client = Client(node, 12, ids)
    waiting = node.submit(Api.FETCH, 12, **client.fields({("t", 0): 0}, max_wait=5000, min_bytes=1_000))
    assert isinstance(waiting, Wait)
    assert waiting.gives_way
    node.append("t", [b"x"])
    again = waiting.resume(False)
    assert isinstance(again, Wait)
    assert again.gives_way


def test_a_waiting_request_learns_that_its_topic_is_deleted(node: OneNode, ids: dict[str, bytes]) -> None:
    client = Client(node, 12, ids)
    waiting = node.submit(Api.FETCH, 12, **client.fields({("t", 0): 0}, max_wait=5000))
    assert isinstance(waiting, Wait)
    node.ask(Api.DELETE_TOPICS, 6, topics=[{"name": "t", "topic_id": None}], timeout=1000)
    reply = waiting.resume(False)
    assert not isinstance(reply, Wait)
    (topic,) = read_response(Api.FETCH, 12, body_of(reply)).responses
    assert [int(part.error_code) for part in topic.partitions] == [3]


def test_the_brokers_limit_of_a_fetch_holds_whatever_is_asked() -> None:
    node = OneNode({"fetch.max.bytes": "1024"})
    ids = {"t": node.create_topic("t", 2)}
    for partition in (0, 1):
        for _ in range(4):
            node.append("t", [b"x" * 400], partition=partition)
    _, _, found = Client(node, 12, ids).fetch({("t", 0): 0, ("t", 1): 0})
    assert [len(found["t", index].records or b"") for index in (0, 1)] == [1024, 0]


@pytest.mark.parametrize(
    ("place", "offset", "code"), [(("t", 9), 0, 3), (("t", 0), 5, 1), (("t", 0), -1, 1), (("none", 0), 0, 3)]
)
def test_what_cannot_be_read_is_answered_with_kafkas_code(
    node: OneNode, ids: dict[str, bytes], place: tuple[str, int], offset: int, code: int
) -> None:
    error, session_id, found = Client(node, 12, ids).fetch({place: offset}, session_id=0, session_epoch=0)
    assert (error, int(found[place].error_code)) == (0, code)
    assert session_id > 0
    assert found[place].high_watermark == -1


def test_an_id_that_nobody_has_is_answered_with_unknown_topic_id(
    node: OneNode, ids: dict[str, bytes]
) -> None:
    _, _, found = Client(node, 17, ids).fetch({("none", 0): 0})
    assert [int(part.error_code) for part in found.values()] == [100]


def test_a_broken_disk_is_told_to_old_clients_as_another_leader(node: OneNode, ids: dict[str, bytes]) -> None:
    node.append("t", [b"x"])
    node.broker.logs.directories[0].fail(OSError(5, "broken"))
    codes = [
        int(Client(node, version, ids).fetch({("t", 0): 0})[2]["t", 0].error_code) for version in (5, 6, 12)
    ]
    assert codes == [6, 56, 56]
