"""Flows of mirrors, read from what mirrors publish: the shape is that of `penstock.mirror.service`."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from penstock.client.errors import ClientError
from penstock.console.mirrors import MirrorFlow, Mirrors
from penstock.console.remotes import MIRROR
from penstock.console.rest_service import RestService, ServiceRefused
from penstock.mirror.counting import FlowCounts
from penstock.mirror.service import describe
from penstock.protocol.topic_partition import TopicPartition

PLACE = TopicPartition("orders", 1)


def published(state: str = "running") -> list[Any]:
    counts = FlowCounts("A", "B")
    counts.ends({PLACE: 7})
    counts.failed("checkpoints")
    flow: Any = SimpleNamespace(settings=SimpleNamespace(source="A", target="B"), counts=counts, state=state)
    return [describe(flow)]


def flows(*answers: Any) -> list[MirrorFlow]:
    """Of mirrors that give these answers; None for one that is away."""

    def answer(request: httpx.Request) -> httpx.Response:
        given = answers[int(request.url.host.removeprefix("mirror-"))]
        if given is None:
            raise httpx.ConnectError("Connection refused")
        return httpx.Response(200, json=given)

    urls = [f"http://mirror-{number}:8084" for number in range(len(answers))]
    services = [RestService(MIRROR, url, httpx.MockTransport(answer)) for url in urls]
    return asyncio.run(Mirrors(services).flows())


def test_what_a_mirror_publishes_is_understood() -> None:
    (flow,) = flows(published())
    assert (flow.name, flow.state, flow.tone) == ("A→B", "running", "good")
    assert (flow.lag_records, flow.errors) == (7, {"checkpoints": 1})
    (row,) = flow.partitions
    assert (row.topic, row.partition, row.lag_records) == ("orders", 1, 7)


def test_a_mirror_that_is_away_takes_nothing_from_another() -> None:
    (flow,) = flows(None, published("failing"))
    assert flow.url == "http://mirror-1:8084"
    assert flow.tone == "bad"


def test_without_any_answer_it_is_said_how_to_start_one() -> None:
    with pytest.raises(ClientError, match="penstock mirror --config"):
        flows(None, None)


def test_what_is_no_mirror_is_refused_in_words() -> None:
    with pytest.raises(ServiceRefused, match="no flows at"):
        flows([{"source": "A"}])
    assert flows() == []
