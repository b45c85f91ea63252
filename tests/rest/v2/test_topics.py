"""Topics and partitions by version 2."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rest.proxies import Proxy


def test_a_topic_is_listed_and_described(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    assert topic in proxy.client.get("/topics").json()
    found = proxy.client.get(f"/topics/{topic}").json()
    assert found["name"] == topic
    assert found["configs"]["cleanup.policy"] == "delete"
    (broker,) = proxy.client.get("/brokers").json()["brokers"]
    replica = {"broker": broker, "leader": True, "in_sync": True}
    assert found["partitions"] == [{"partition": p, "leader": broker, "replicas": [replica]} for p in (0, 1)]
    assert proxy.client.get(f"/topics/{topic}/partitions").json() == found["partitions"]
    assert proxy.client.get(f"/topics/{topic}/partitions/1").json() == found["partitions"][1]


def test_offsets_of_a_partition_grow_with_its_records(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    proxy.produce(topic, "binary", {"records": [{"value": "aGk="}] * 3})
    found = proxy.client.get(f"/topics/{topic}/partitions/0/offsets").json()
    assert found == {"beginning_offset": 0, "end_offset": 3}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/topics/nonesuch", 40401),
        ("/topics/nonesuch/partitions", 40401),
        ("/topics/{topic}/partitions/7", 40402),
        ("/topics/{topic}/partitions/x", 40402),
        ("/topics/{topic}/partitions/7/offsets", 40402),
        ("/nonesuch", 404),
    ],
)
def test_what_is_not_there_has_its_code(
    proxy: Proxy, new_topic: Callable[..., str], path: str, code: int
) -> None:
    answer = proxy.client.get(path.format(topic=new_topic()))
    assert (answer.status_code, answer.json()["error_code"]) == (404, code)


def test_media_types_are_agreed_on(proxy: Proxy) -> None:
    for accepted in ("application/json", "application/vnd.kafka.v2+json"):
        answer = proxy.client.get("/topics", headers={"accept": accepted})
        assert answer.headers["content-type"] == accepted
    assert proxy.client.get("/topics", headers={"accept": "text/html"}).status_code == 406
