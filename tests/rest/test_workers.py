"""Several workers on one port: consumer instances are found from all of them, and all end together."""

from __future__ import annotations

import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.rest.proxies import V2, Proxy, Service, embedded, running_service

WORKERS = 3


@pytest.fixture(scope="module")
def service(bootstrap_servers: str) -> Iterator[Service]:
    with running_service("rest", bootstrap_servers, "--workers", str(WORKERS)) as found:
        yield found


class Answer:
    def __init__(self, status: int, text: bytes) -> None:
        self.status_code = status
        self._text = text

    def json(self) -> Any:
        return json.loads(self._text)


def ask(service: Service, method: str, path: str, body: Any = None, media_type: str = V2) -> Answer:
    """Over a connection of its own, so that any worker may have it."""
    with closing(http.client.HTTPConnection(service.address, timeout=30)) as connection:
        text = None if body is None else json.dumps(body)
        connection.request(
            method, path, text, {"accept": "*/*"} if body is None else {"content-type": media_type}
        )
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_instance_is_found_whichever_worker_is_asked(
    service: Service, proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    assert len(children(service.pid)) == WORKERS
    topic = new_topic()
    proxy.produce(topic, "json", {"records": [{"value": number} for number in range(5)]})
    settings = {"format": "json", "auto.offset.reset": "earliest", "fetch.min.bytes": 0}
    unnamed = ask(service, "POST", f"/consumers/{group}", settings).json()
    assert unnamed["instance_id"].startswith("rest-consumer-")
    named = ask(service, "POST", f"/consumers/{group}-b", {**settings, "name": "mine"}).json()
    assert named["base_uri"] == f"http://{service.address}/consumers/{group}-b/instances/mine"
    for own, instance in ((group, unnamed["instance_id"]), (f"{group}-b", "mine")):
        path = f"/consumers/{own}/instances/{instance}"
        body = {"partitions": [{"topic": topic, "partition": 0}]}
        for _ in range(2 * WORKERS):
            assert ask(service, "POST", f"{path}/assignments", body).status_code == 204
            shown = ask(service, "GET", f"{path}/assignments").json()
            assert shown["partitions"] == body["partitions"]
        found: list[int] = []
        deadline = time.monotonic() + 30
        while len(found) < 5:
            assert time.monotonic() < deadline
            found += [each["value"] for each in ask(service, "GET", f"{path}/records").json()]
        assert found == list(range(5))
        assert ask(service, "POST", f"/consumers/{own}", {"name": instance}).json()["error_code"] == 40902
        assert ask(service, "DELETE", path).status_code == 204
        assert {ask(service, "GET", f"{path}/assignments").status_code for _ in range(2 * WORKERS)} == {404}


def test_a_stream_is_passed_on_as_it_comes(
    service: Service, proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    path = f"/consumers/{group}/instances/s"
    settings = {"name": "s", "format": "json", "auto.offset.reset": "earliest"}
    assert ask(service, "POST", f"/consumers/{group}", settings).status_code == 200
    ask(service, "POST", f"{path}/assignments", {"partitions": [{"topic": topic, "partition": 0}]})
    proxy.produce(topic, "json", {"records": [{"value": number} for number in range(9)]})
    found: list[int] = []
    deadline = time.monotonic() + 60
    while len(found) < 9:  # each time over another connection
        assert time.monotonic() < deadline
        with closing(http.client.HTTPConnection(service.address, timeout=30)) as connection:
            accept = {"accept": "application/x-ndjson"}
            connection.request("GET", f"{path}/records?timeout=200&max_bytes=1", headers=accept)
            found += [json.loads(line)["value"] for line in connection.getresponse().read().splitlines()]
    assert found == list(range(9))
    assert ask(service, "DELETE", path).status_code == 204


def test_many_clients_produce_by_all_workers(
    service: Service, new_topic: Callable[..., str], proxy: Proxy
) -> None:
    topic = new_topic()

    def produce(number: int) -> int:
        body = {"records": [{"value": number}]}
        answer = ask(service, "POST", f"/topics/{topic}", body, embedded("json"))
        return int(answer.json()["offsets"][0]["offset"])

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(produce, range(60))) == list(range(60))


def test_a_worker_that_is_killed_is_started_again_and_all_end_with_the_first(bootstrap_servers: str) -> None:
    with running_service("rest", bootstrap_servers, "--workers", "2") as service:
        before = children(service.pid)
        os.kill(before[0], signal.SIGKILL)
        deadline = time.monotonic() + 60
        while set(now := children(service.pid)) == set(before) or len(now) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    while any(Path(f"/proc/{pid}").exists() for pid in {*before, *now}):
        assert time.monotonic() < deadline
        time.sleep(0.05)
