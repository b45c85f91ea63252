"""The same calls of the REST API to Apache Kafka Connect and to ours: the same codes and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.admin import Admin
from penstock.testing.broker import Broker
from tests.connectors.worker import Worker
from tests.peers.apache_kafka import Unavailable, connect_jars
from tests.peers.connect.apache_connect import ApacheConnect, asked
from tests.peers.connect.rest_script import Call, played, script

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Kafka's worker and ours, each on a broker of its own: groups of sinks have the connectors' names."""
    try:
        connect_jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    settings = {"group.min.session.timeout.ms": "1000", "offsets.topic.num.partitions": "4"}
    with Broker(settings=settings) as broker, Broker(settings=settings) as other:
        for each in (broker, other):
            Admin(each.bootstrap_servers).create_topic("lines")
        with ApacheConnect(other.bootstrap_servers, exactly_once_source_support="enabled") as apache:
            ours = Worker(broker.bootstrap_servers, "/", group_id="beside").start()
            try:
                yield apache.url, ours.url
            finally:
                ours.stop()


def test_every_call_has_the_same_code_and_body(
    urls: tuple[str, str], tmp_path: Path, long_form: bool
) -> None:
    data = long_form
    if data:
        (tmp_path / "in.txt").write_text("one\ntwo\n")
    theirs, ours = (list(played(script(str(tmp_path), data=data), _ask(url))) for url in urls)
    different = [
        f"{call.text}\n   Kafka: {shown(call, *expected)}\n    ours: {shown(call, *found)}"
        for (call, *expected), (_, *found) in zip(theirs, ours, strict=True)
        if shown(call, *expected) != shown(call, *found)
    ]
    assert not different, "\n".join(different)
    assert len(theirs) > 200


def _ask(url: str) -> Any:
    return lambda method, path, body: asked(url, method, path, body)


def shown(call: Call, status: int, body: Any) -> tuple[int, Any]:
    """Where Kafka answers 500 to a body that it cannot read, it shows the words of its libraries."""
    unreadable = status == 500 and call.body is not None and "BadRequest" not in str(body)
    return status, "unreadable" if unreadable and not _own_words(body) else body


def _own_words(body: Any) -> bool:
    own = ("The value", "Offset objects", "Partition objects", "Failed to")
    return str(body.get("message")).startswith(own) if isinstance(body, dict) else False


def test_kafkas_plugins_are_all_there(urls: tuple[str, str]) -> None:
    theirs, ours = (asked(url, "GET", "/connector-plugins?connectorsOnly=false")[1] for url in urls)
    found = {(each["class"], each["type"]) for each in ours}
    assert {(each["class"], each["type"]) for each in theirs} - found == set()
    assert asked(urls[1], "GET", "/connector-plugins")[1] == [
        each for each in ours if each["type"] in ("source", "sink")
    ]
