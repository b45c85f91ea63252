"""`Accept` asks for a stream of records: lines of JSON, or server-sent events."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.rest.proxies import Proxy


def reading(proxy: Proxy, topic: str, group: str, form: str = "json") -> str:
    instance = proxy.consumer(group, "i", form)
    body = {"partitions": [{"topic": topic, "partition": 0}]}
    assert proxy.send("POST", f"{instance}/assignments", body).status_code == 204
    return instance


@pytest.mark.parametrize("accept", ["application/x-ndjson", "text/event-stream"])
def test_records_come_as_they_are_written(
    proxy: Proxy, new_topic: Callable[..., str], group: str, accept: str
) -> None:
    topic = new_topic()
    instance = reading(proxy, topic, group)
    proxy.produce(topic, "json", {"records": [{"value": 0}, {"value": {"a": 1}}]})
    found = []
    with proxy.client.stream("GET", f"{instance}/records", headers={"accept": accept}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(accept)
        for line in answer.iter_lines():
            if not line:
                continue
            found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == 2:  # the stream goes on
                proxy.produce(topic, "json", {"records": [{"value": "late"}]})
            if len(found) == 3:
                break
    assert [each["value"] for each in found] == [0, {"a": 1}, "late"]
    assert [each["offset"] for each in found] == [0, 1, 2]
    assert proxy.client.delete(instance).status_code == 204  # the stream has let go of it


def test_a_stream_ends_in_time_and_with_what_went_wrong(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    instance = reading(proxy, topic, group)
    lines = {"accept": "application/x-ndjson"}
    assert proxy.client.get(f"{instance}/records", params={"timeout": 50}, headers=lines).text == ""
    proxy.produce(topic, "binary", {"records": [{"value": "e30="}, {"value": "/w=="}]})
    first, last = proxy.client.get(f"{instance}/records", headers=lines).text.splitlines()
    assert json.loads(first)["value"] == {}
    assert json.loads(last)["error_code"] == 42203
    missing = proxy.client.get(f"/consumers/{group}/instances/none/records", headers=lines)
    assert (missing.status_code, missing.json()["error_code"]) == (404, 40403)
    proxy.client.delete(instance)
