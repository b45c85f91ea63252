"""Consumer instances: groups, reading, committing, seeking, expiry."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Consumer

from penstock.client.admin import Admin
from penstock.client.groups import Groups
from tests.rest.proxies import Proxy, running_proxy


def fill(proxy: Proxy, topic: str, count: int, partition: int = 0) -> None:
    body = {"records": [{"value": {"n": n}, "partition": partition} for n in range(count)]}
    assert proxy.produce(topic, "json", body).status_code == 200


def subscribed(proxy: Proxy, group: str, name: str, topic: str, **more: Any) -> str:
    instance = proxy.consumer(group, name, "json", **more)
    answer = proxy.send("POST", f"{instance}/subscription", {"topics": [topic]})
    assert answer.status_code == 204, answer.text
    return instance


def assigned(proxy: Proxy, group: str, topic: str, **more: Any) -> str:
    instance = proxy.consumer(group, "reader", "json", **more)
    answer = proxy.send("POST", f"{instance}/assignments", at(topic))
    assert answer.status_code == 204, answer.text
    return instance


def at(topic: str, partition: int = 0) -> dict[str, Any]:
    return {"partitions": [{"topic": topic, "partition": partition}]}


def test_an_instance_reads_what_was_produced_and_is_deleted(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 3)
    instance = subscribed(proxy, group, "a", topic)
    assert proxy.client.get(f"{instance}/subscription").json() == {"topics": [topic]}
    found = proxy.read_until(instance, 3, "json")
    assert found == [
        {"topic": topic, "key": None, "value": {"n": n}, "partition": 0, "offset": n} for n in range(3)
    ]
    assert proxy.client.get(f"{instance}/assignments").json() == at(topic)
    assert proxy.client.delete(instance).status_code == 204
    gone = proxy.read(instance, "json")
    assert (gone.status_code, gone.json()["error_code"]) == (404, 40403)


def test_two_members_of_a_group_share_its_partitions_and_another_group_has_all(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(2)
    members = [subscribed(proxy, group, name, topic) for name in ("a", "b")]
    alone = subscribed(proxy, f"{group}-other", "c", topic)
    wait_for_assignments(proxy, {members[0]: 1, members[1]: 1, alone: 2})
    for partition in (0, 1):
        fill(proxy, topic, 5, partition)
    with ThreadPoolExecutor(3) as threads:
        first, second, every = threads.map(
            lambda asked: proxy.read_until(asked[0], asked[1], "json"),
            [(members[0], 5), (members[1], 5), (alone, 10)],
        )
    partitions = [{record["partition"] for record in found} for found in (first, second)]
    assert sorted(map(sorted, partitions)) == [[0], [1]]
    assert len(every) == 10
    for instance in (*members, alone):
        proxy.client.delete(instance)


def wait_for_assignments(proxy: Proxy, wanted: dict[str, int]) -> None:
    deadline = time.monotonic() + 20
    while True:
        counts = {each: len(proxy.client.get(f"{each}/assignments").json()["partitions"]) for each in wanted}
        if counts == wanted:
            return
        assert time.monotonic() < deadline, counts
        for each in wanted:
            proxy.read(each, "json", timeout=100)


def test_commits_are_seen_by_ordinary_tools_and_by_the_next_member(
    proxy: Proxy, new_topic: Callable[..., str], group: str, admin: Admin
) -> None:
    topic = new_topic()
    fill(proxy, topic, 10)
    instance = assigned(proxy, group, topic, **{"auto.commit.enable": "false"})
    offsets = {"offsets": [{"topic": topic, "partition": 0, "offset": 3, "metadata": "here"}]}
    assert proxy.send("POST", f"{instance}/offsets", offsets).status_code == 200
    assert Groups(admin).committed(group) == {(topic, 0): 4}
    committed = proxy.send("GET", f"{instance}/offsets", at(topic)).json()
    assert committed == {"offsets": [{"topic": topic, "partition": 0, "offset": 4, "metadata": "here"}]}
    proxy.client.delete(instance)
    again = assigned(proxy, group, topic)
    assert proxy.read_until(again, 6, "json")[0]["offset"] == 4
    proxy.client.delete(again)


def test_a_commit_without_a_body_is_about_what_was_read(
    proxy: Proxy, new_topic: Callable[..., str], group: str, admin: Admin
) -> None:
    topic = new_topic()
    fill(proxy, topic, 5)
    instance = assigned(proxy, group, topic, **{"auto.commit.enable": False})
    proxy.read_until(instance, 5, "json")
    assert Groups(admin).committed(group) == {}
    assert proxy.send("POST", f"{instance}/offsets").status_code == 200
    assert Groups(admin).committed(group) == {(topic, 0): 5}
    proxy.client.delete(instance)


def test_a_deleted_instance_leaves_its_position_when_it_commits_by_itself(
    proxy: Proxy, new_topic: Callable[..., str], group: str, admin: Admin
) -> None:
    topic = new_topic()
    fill(proxy, topic, 4)
    instance = assigned(proxy, group, topic)
    proxy.read_until(instance, 4, "json")
    proxy.client.delete(instance)
    assert Groups(admin).committed(group) == {(topic, 0): 4}


def test_positions_move_to_offsets_edges_and_times(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 5)
    instance = assigned(proxy, group, topic)
    proxy.read_until(instance, 5, "json")
    wanted = {"offsets": [{"topic": topic, "partition": 0, "offset": 3}]}
    assert proxy.send("POST", f"{instance}/positions", wanted).status_code == 204
    assert [record["offset"] for record in proxy.read_until(instance, 2, "json")] == [3, 4]
    assert proxy.send("POST", f"{instance}/positions/beginning", at(topic)).status_code == 204
    assert proxy.read_until(instance, 5, "json")[0]["offset"] == 0
    assert proxy.send("POST", f"{instance}/positions/end", at(topic)).status_code == 204
    fill(proxy, topic, 1)
    assert [record["offset"] for record in proxy.read_until(instance, 1, "json")] == [5]
    early = {"timestamps": [{"topic": topic, "partition": 0, "timestamp": "2000-01-01T00:00:00Z"}]}
    assert proxy.send("POST", f"{instance}/positions", early).status_code == 204
    assert proxy.read_until(instance, 6, "json")[0]["offset"] == 0
    proxy.client.delete(instance)


def test_max_bytes_ends_an_answer_and_the_next_one_goes_on(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 50)
    instance = assigned(proxy, group, topic)
    found: list[int] = []
    while len(found) < 50:
        records = proxy.read(instance, "json", max_bytes=30).json()
        assert len(records) <= 10
        found += [record["offset"] for record in records]
    assert found == list(range(50))
    proxy.client.delete(instance)


def test_a_record_in_another_format_is_named_and_can_be_passed(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 1)
    proxy.produce(topic, "binary", {"records": [{"value": "/w=="}, {"value": "MQ=="}]})
    instance = assigned(proxy, group, topic)
    assert [record["offset"] for record in proxy.read_until(instance, 1, "json")] == [0]
    refused = proxy.read(instance, "json")
    assert (refused.status_code, refused.json()["error_code"]) == (422, 42203)
    assert "offset 1 of partition 0" in refused.json()["message"]
    behind = {"offsets": [{"topic": topic, "partition": 0, "offset": 2}]}
    proxy.send("POST", f"{instance}/positions", behind)
    assert [record["value"] for record in proxy.read_until(instance, 1, "json")] == [1]
    proxy.client.delete(instance)


def test_a_pattern_matches_whole_names(proxy: Proxy, new_topic: Callable[..., str], group: str) -> None:
    topic = new_topic()
    fill(proxy, topic, 2)
    instance = proxy.consumer(group, "a", "json")
    pattern = {"topic_pattern": topic[:-1] + r"\d"}
    assert proxy.send("POST", f"{instance}/subscription", pattern).status_code == 204
    subscribed_to = proxy.client.get(f"{instance}/subscription").json()["topics"]
    assert topic in subscribed_to
    assert all(len(name) == len(topic) for name in subscribed_to)
    broken = proxy.send("POST", f"{instance}/subscription", {"topic_pattern": "(" * 500})
    assert (broken.status_code, broken.json()["error_code"]) == (422, 42206)
    proxy.client.delete(instance)


def test_subscription_and_assignment_exclude_each_other(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    instance = subscribed(proxy, group, "a", topic)
    refused = proxy.send("POST", f"{instance}/assignments", at(topic))
    assert (refused.status_code, refused.json()["error_code"]) == (409, 40903)
    assert proxy.client.delete(f"{instance}/subscription").status_code == 204
    assert proxy.send("POST", f"{instance}/assignments", at(topic)).status_code == 204
    refused = proxy.send("POST", f"{instance}/subscription", {"topics": [topic]})
    assert refused.json()["error_code"] == 40903
    proxy.client.delete(instance)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"format": "xml"}, 422, 42204),
        ({"auto.offset.reset": "sometimes"}, 422, 42204),
        ({"auto.commit.enable": "perhaps"}, 422, 42204),
        ({"fetch.min.bytes": -2}, 422, 42204),
        ({"consumer.request.timeout.ms": "soon"}, 422, 42204),
        ({"name": ""}, 422, 422),
        ({"name": 1}, 422, 422),
        ({"name": "a\0b"}, 422, 422),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    proxy: Proxy, group: str, body: dict[str, Any], status: int, code: int
) -> None:
    answer = proxy.send("POST", f"/consumers/{group}", body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)


def test_what_an_instance_cannot_do_has_its_code(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    instance = proxy.consumer(group, "a", "json")

    def code(answer: Any) -> tuple[int, int]:
        return answer.status_code, answer.json()["error_code"]

    assert code(proxy.send("POST", f"/consumers/{group}", {"name": "a"})) == (409, 40902)
    assert code(proxy.read(instance, "json")) == (409, 40903)
    assert code(proxy.read(instance, "binary")) == (406, 40601)
    assert code(proxy.send("POST", f"{instance}/positions/end", at(topic))) == (409, 40903)
    assert code(proxy.send("POST", f"{instance}/subscription", {})) == (422, 42206)
    assert code(proxy.send("POST", f"{instance}/subscription", {"topics": []})) == (422, 422)
    assert code(proxy.send("GET", f"{instance}/offsets")) == (404, 40402)
    assert code(proxy.send("POST", f"/consumers/{group}/instances/b/offsets")) == (404, 40403)
    proxy.client.delete(instance)


def test_an_instance_that_nobody_uses_expires_and_leaves_its_group(
    bootstrap_servers: str, proxy: Proxy, new_topic: Callable[..., str], group: str, admin: Admin
) -> None:
    topic = new_topic()
    fill(proxy, topic, 2)
    with running_proxy(bootstrap_servers, consumer_instance_timeout_ms="1500") as hasty:
        instance = subscribed(hasty, group, "a", topic)
        hasty.read_until(instance, 2, "json")
        assert len(Groups(admin).describe(group).members) == 1
        deadline = time.monotonic() + 10
        while Groups(admin).describe(group).members:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert hasty.read(instance, "json").json()["error_code"] == 40403
    assert Groups(admin).committed(group) == {(topic, 0): 2}


def test_there_are_no_more_instances_than_allowed(bootstrap_servers: str, group: str) -> None:
    with running_proxy(bootstrap_servers, consumer_instances_max="2") as small:
        instances = [small.consumer(group, name) for name in ("a", "b")]
        refused = small.send("POST", f"/consumers/{group}", {"name": "c"})
        assert (refused.status_code, refused.json()["error_code"]) == (429, 42901)
        small.client.delete(instances[0])
        small.consumer(group, "c")


def test_deleting_an_instance_ends_the_read_that_waits(
    proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic()
    instance = assigned(proxy, group, topic, **{"consumer.request.timeout.ms": 30_000})
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(proxy.read, instance, "json")
        assert proxy.client.get("/topics").status_code == 200  # the read is under way, or comes too late
        started = time.monotonic()
        assert proxy.client.delete(instance).status_code == 204
        assert waiting.result(10).status_code in (200, 404)
        assert time.monotonic() - started < 5


def test_an_ordinary_consumer_goes_on_where_an_instance_stopped(
    proxy: Proxy, new_topic: Callable[..., str], group: str, bootstrap_servers: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 3)
    instance = subscribed(proxy, group, "a", topic)
    proxy.read_until(instance, 3, "json")
    proxy.client.delete(instance)
    fill(proxy, topic, 1)
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    message = consumer.poll(15)
    consumer.close()
    assert message is not None
    assert message.offset() == 3


def test_a_zero_byte_in_a_name_is_refused_and_not_the_end_of_it(proxy: Proxy, group: str) -> None:
    """librdkafka ends the whole process when the name of a group is empty, which a zero byte makes it."""
    assert proxy.send("POST", "/consumers/%00", {"name": "a"}).status_code == 400
    instance = proxy.consumer(group, "a")
    refused = proxy.send("POST", f"{instance}/subscription", {"topics": ["a\0b"]})
    assert (refused.status_code, refused.json()["error_code"]) == (422, 422)
    assert proxy.produce("a%00b", "json", {"records": [{"value": 1}]}).status_code == 400
    proxy.client.delete(instance)


def test_the_uri_of_an_instance_leads_to_it_whatever_its_name(proxy: Proxy, group: str) -> None:
    made = proxy.send("POST", f"/consumers/{group}%2F1", {"name": "a/b ü"}).json()
    assert made["instance_id"] == "a/b ü"
    assert proxy.client.get(f"{made['base_uri']}/subscription").json() == {"topics": []}
    assert proxy.client.delete(made["base_uri"]).status_code == 204


def test_members_in_two_proxies_are_one_group(
    bootstrap_servers: str, proxy: Proxy, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(2)
    with running_proxy(bootstrap_servers) as other:
        members = [(each, subscribed(each, group, "same-name", topic)) for each in (proxy, other)]
        deadline = time.monotonic() + 20
        while True:
            found = [each.client.get(f"{path}/assignments").json()["partitions"] for each, path in members]
            if [len(partitions) for partitions in found] == [1, 1]:
                break
            assert time.monotonic() < deadline, found
            for each, path in members:
                each.read(path, "json", timeout=100)
        assert found[0] != found[1]
        assert other.client.get(members[0][1] + "x/assignments").json()["error_code"] == 40403
        proxy.client.delete(members[0][1])


@pytest.mark.parametrize("commits", ["true", "false"])
def test_a_subscription_that_was_ended_makes_room_for_an_assignment(
    proxy: Proxy, new_topic: Callable[..., str], group: str, commits: str
) -> None:
    topic = new_topic()
    fill(proxy, topic, 5)
    instance = subscribed(proxy, group, "a", topic, **{"auto.commit.enable": commits})
    assert len(proxy.read_until(instance, 5, "json")) == 5
    assert proxy.client.delete(f"{instance}/subscription").status_code == 204
    assert proxy.send("POST", f"{instance}/assignments", at(topic)).status_code == 204
    place = {"offsets": [{"topic": topic, "partition": 0, "offset": 2}]}
    assert proxy.send("POST", f"{instance}/positions", place).status_code == 204
    found = proxy.read_until(instance, 3, "json")
    assert [each["offset"] for each in found] == [2, 3, 4]
    assert proxy.client.get(f"{instance}/assignments").json() == at(topic)
    assert proxy.send("POST", f"{instance}/offsets").status_code == 200
    committed = proxy.send("GET", f"{instance}/offsets", at(topic)).json()["offsets"]
    assert [each["offset"] for each in committed] == [5]


def test_a_field_that_nobody_knows_is_422(proxy: Proxy, new_topic: Callable[..., str], group: str) -> None:
    instance = proxy.consumer(group, "a", "json")
    answer = proxy.send("POST", f"{instance}/subscription", {"topics": [new_topic()], "topik": 1})
    assert (answer.status_code, "topik" in answer.json()["message"]) == (422, True)
    answer = proxy.produce(new_topic(), "json", {"records": [{"value": 1, "val": 2}]})
    assert answer.status_code == 422


def test_an_instance_of_a_proxy_that_was_restarted_is_refused_with_what_to_do(
    bootstrap_servers: str, group: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    with running_proxy(bootstrap_servers) as before:
        instance = before.consumer(group, "reader")
        before.produce(topic, "binary", {"records": [{"value": "YQ=="}, {"value": "Yg=="}]})
        before.send("POST", f"{instance}/subscription", {"topics": [topic]})
        assert len(before.read_until(instance, 2)) == 2
        before.send("POST", f"{instance}/offsets")
    with running_proxy(bootstrap_servers) as after:
        refused = after.read(instance)
        assert (refused.status_code, refused.json()["error_code"]) == (404, 40403)
        assert "Create it again" in refused.json()["message"]
        again = after.consumer(group, "reader")
        after.produce(topic, "binary", {"records": [{"value": "Yw=="}]})
        after.send("POST", f"{again}/subscription", {"topics": [topic]})
        assert [each["value"] for each in after.read_until(again, 1)] == ["Yw=="]
