"""Share groups by version 3, with a real share consumer in one."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from penstock.client import ShareConsumer
from penstock.client.admin import Admin
from tests.rest.proxies import Proxy


def test_a_share_group_is_shown_with_its_consumers_and_deleted(
    proxy: Proxy, admin: Admin, new_topic: Callable[..., str], group: str, bootstrap_servers: str
) -> None:
    topic, cluster = new_topic(2), proxy.cluster()
    groups = f"{cluster}/share-groups"
    with ShareConsumer({"bootstrap.servers": bootstrap_servers, "group.id": group}) as consumer:
        consumer.subscribe([topic])
        shown: dict[str, object] = {}
        for _ in range(100):
            consumer.poll(0.2)
            answer = proxy.client.get(f"{groups}/{group}")
            shown = answer.json()
            if answer.status_code == 200 and shown["partition_count"] == 2:
                break
        assert shown["kind"] == "KafkaShareGroup"
        assert (shown["share_group_id"], shown["state"], shown["consumer_count"]) == (group, "STABLE", 1)
        places = shown["assigned_topic_partitions"]
        assert isinstance(places, list)
        assert [(each["topic_name"], each["partition_id"]) for each in places] == [(topic, 0), (topic, 1)]
        listed = proxy.client.get(groups).json()
        assert listed["kind"] == "KafkaShareGroupList"
        assert group in [each["share_group_id"] for each in listed["data"]]

        (member,) = proxy.client.get(f"{groups}/{group}/consumers").json()["data"]
        one = f"{groups}/{group}/consumers/{quote(member['consumer_id'], safe='-')}"
        assert proxy.client.get(one).json() == member
        assert member["assignments"]["related"] == f"http://{proxy.address}{one}/assignments"
        has = proxy.client.get(f"{one}/assignments").json()["data"]
        assert [(each["topic_name"], each["partition_id"]) for each in has] == [(topic, 0), (topic, 1)]
        assert has[0]["partition"]["related"].endswith(f"/topics/{topic}/partitions/0")
        refused = proxy.client.delete(f"{groups}/{group}")
        assert refused.json()["error_code"] == 40002, refused.text
    assert proxy.client.delete(f"{groups}/{group}").status_code == 204
    assert proxy.client.get(f"{groups}/{group}").json()["error_code"] == 40405


def test_what_is_not_there_is_not_found(proxy: Proxy, group: str) -> None:
    groups = f"{proxy.cluster()}/share-groups"
    for path in (f"/{group}", f"/{group}/consumers", f"/{group}/consumers/x/assignments"):
        assert proxy.client.get(groups + path).json()["error_code"] == 40405
    assert proxy.client.get("/v3/clusters/other/share-groups").status_code == 404
