"""Version 3: the cluster, its topics, settings and groups as resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer

from tests.rest.proxies import Proxy

JSON = "application/json"


def get(proxy: Proxy, path: str) -> Any:
    answer = proxy.client.get(proxy.cluster() + path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == JSON
    return answer.json()


def send(proxy: Proxy, method: str, path: str, body: Any = None) -> Any:
    return proxy.send(method, proxy.cluster() + path, body, JSON)


def test_every_link_leads_somewhere(proxy: Proxy, new_topic: Callable[..., str]) -> None:
    """From the list of clusters on, each `self` and `related` is there."""
    new_topic(2)
    seen: set[str] = set()
    waiting = ["/v3/clusters"]
    while waiting and len(seen) < 150:
        url = waiting.pop()
        seen.add(url)
        answer = proxy.client.get(url)
        # There is no authorizer, and no partition is being moved.
        moved = url.endswith("reassignment") and "/-/" not in url
        expected = 400 if url.endswith("acls") else 404 if moved else 200
        assert answer.status_code == expected, url
        if "/configs" not in url and "/consumer-groups/" not in url:
            waiting += [link for link in links_of(answer.json()) if link not in seen]
    assert len(seen) > 10


def links_of(value: Any) -> list[str]:
    if isinstance(value, list):
        return [link for item in value for link in links_of(item)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in ("self", "related") if isinstance(value.get(name), str)]
    return own + [link for item in value.values() for link in links_of(item)]


def test_a_topic_is_created_grown_and_deleted(proxy: Proxy) -> None:
    wanted = {
        "topic_name": "v3-made",
        "partitions_count": 2,
        "replication_factor": 1,
        "configs": [{"name": "retention.ms", "value": "1000"}],
    }
    only_asked = send(proxy, "POST", "/topics", {**wanted, "validate_only": True})
    assert (only_asked.status_code, only_asked.json()["partitions_count"]) == (200, 2)
    made = send(proxy, "POST", "/topics", wanted)
    assert made.status_code == 201
    assert made.json() == get(proxy, "/topics/v3-made")
    assert made.headers["location"] == made.json()["metadata"]["self"]
    assert made.json()["kind"] == "KafkaTopic"
    assert made.json()["metadata"]["resource_name"].endswith("/topic=v3-made")
    assert get(proxy, "/topics/v3-made/configs/retention.ms")["value"] == "1000"
    again = send(proxy, "POST", "/topics", wanted)
    assert (again.status_code, again.json()["error_code"]) == (400, 40002)
    grown = send(proxy, "PATCH", "/topics/v3-made", {"partitions_count": 3})
    assert (grown.status_code, grown.json()["partitions_count"]) == (200, 3)
    assert send(proxy, "PATCH", "/topics/v3-made", {"partitions_count": 3}).json()["error_code"] == 40002
    assert send(proxy, "DELETE", "/topics/v3-made").status_code == 204
    gone = send(proxy, "DELETE", "/topics/v3-made")
    assert (gone.status_code, gone.json()["error_code"]) == (404, 40403)


def test_a_topic_takes_the_replicas_that_are_named(proxy: Proxy) -> None:
    (broker,) = get(proxy, "/brokers")["data"]
    wanted = {"topic_name": "v3-placed", "replicas_assignments": {"0": [broker["broker_id"]]}}
    assert send(proxy, "POST", "/topics", wanted).status_code == 201
    (replica,) = get(proxy, "/topics/v3-placed/partitions/0/replicas")["data"]
    assert (replica["is_leader"], replica["is_in_sync"]) == (True, True)
    wrong = {"topic_name": "v3-holes", "replicas_assignments": {"1": [broker["broker_id"]]}}
    assert send(proxy, "POST", "/topics", wrong).json()["error_code"] == 42206


@pytest.mark.parametrize("name", ["", "..", "a/b", "x" * 250, "ü"])
def test_a_topic_with_a_wrong_name_is_refused(proxy: Proxy, name: str) -> None:
    refused = send(proxy, "POST", "/topics", {"topic_name": name})
    assert (refused.status_code, refused.json()["error_code"]) == (422, 42206)


def test_settings_are_set_and_reset_one_by_one_and_together(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    at = f"/topics/{new_topic()}/configs"
    assert send(proxy, "PUT", f"{at}/retention.ms", {"value": "5000"}).status_code == 204
    found = get(proxy, f"{at}/retention.ms")
    assert (found["kind"], found["value"], found["is_default"]) == ("KafkaTopicConfig", "5000", False)
    assert found["synonyms"][0]["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert send(proxy, "DELETE", f"{at}/retention.ms").status_code == 204
    assert get(proxy, f"{at}/retention.ms")["is_default"] is True
    changes = [
        {"name": "cleanup.policy", "operation": "APPEND", "value": "compact"},
        {"name": "max.message.bytes", "value": "5000"},
        {"name": "retention.ms", "operation": "DELETE"},
    ]
    only_asked = send(proxy, "POST", f"{at}:alter", {"data": changes, "validate_only": True})
    assert only_asked.status_code == 204
    assert get(proxy, f"{at}/cleanup.policy")["value"] == "delete"
    assert send(proxy, "POST", f"{at}:alter", {"data": changes}).status_code == 204
    assert set(get(proxy, f"{at}/cleanup.policy")["value"].split(",")) == {"delete", "compact"}
    names = {each["name"]: each["value"] for each in get(proxy, at)["data"]}
    assert names["max.message.bytes"] == "5000"


def test_the_defaults_of_a_topic_are_its_settings_without_its_own(
    proxy: Proxy, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    of_topic = {each["name"]: each for each in get(proxy, f"/topics/{topic}/configs")["data"]}
    assert send(proxy, "PUT", f"/topics/{topic}/configs/retention.ms", {"value": "1234"}).status_code == 204
    found = get(proxy, f"/topics/{topic}/default-configs")
    assert found["kind"] == "KafkaTopicConfigList"
    defaults = {each["name"]: each for each in found["data"]}
    assert defaults.keys() == of_topic.keys()
    assert defaults["retention.ms"]["value"] == of_topic["retention.ms"]["value"] != "1234"
    assert defaults["retention.ms"]["source"] != "DYNAMIC_TOPIC_CONFIG"


def test_settings_of_brokers_and_of_all_of_them(proxy: Proxy) -> None:
    (broker,) = get(proxy, "/brokers")["data"]
    at = f"/brokers/{broker['broker_id']}/configs"
    assert send(proxy, "PUT", "/broker-configs/log.cleaner.threads", {"value": "2"}).status_code == 204
    everywhere = get(proxy, "/broker-configs/log.cleaner.threads")
    assert (everywhere["kind"], everywhere["config_type"]) == ("KafkaClusterConfig", "BROKER")
    assert get(proxy, f"{at}/log.cleaner.threads")["value"] == "2"
    assert send(proxy, "DELETE", "/broker-configs/log.cleaner.threads").status_code == 204
    assert get(proxy, f"{at}/log.cleaner.threads")["value"] == "1"
    changes = {"data": [{"name": "log.cleaner.threads", "value": "3"}]}
    assert send(proxy, "POST", f"{at}:alter", changes).status_code == 204
    assert get(proxy, f"{at}/log.cleaner.threads")["source"] == "DYNAMIC_BROKER_CONFIG"
    assert send(proxy, "DELETE", f"{at}/log.cleaner.threads").status_code == 204
    assert get(proxy, "/brokers/-/configs")["data"]


def test_a_group_is_seen_with_consumers_assignments_and_lag(
    proxy: Proxy, new_topic: Callable[..., str], group: str, bootstrap_servers: str
) -> None:
    topic = new_topic()
    proxy.produce(topic, "binary", {"records": [{"value": "aGk="}] * 5})
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": group, "client.id": "reader"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(15)
        consumer.commit(message, asynchronous=False)
        found = get(proxy, f"/consumer-groups/{group}")
        assert (found["state"], found["type"]) == ("STABLE", "CLASSIC")
        assert group in [each["consumer_group_id"] for each in get(proxy, "/consumer-groups")["data"]]
        (member,) = get(proxy, f"/consumer-groups/{group}/consumers")["data"]
        assert member["client_id"] == "reader"
        at = f"/consumer-groups/{group}/consumers/{member['consumer_id']}"
        assert get(proxy, at) == member
        (assignment,) = get(proxy, f"{at}/assignments")["data"]
        assert (assignment["topic_name"], assignment["partition_id"]) == (topic, 0)
        assert get(proxy, f"{at}/assignments/{topic}/partitions/0") == assignment
        (lag,) = get(proxy, f"/consumer-groups/{group}/lags")["data"]
        assert (lag["current_offset"], lag["log_end_offset"], lag["lag"]) == (1, 5, 4)
        assert lag["consumer_id"] == member["consumer_id"]
        assert get(proxy, f"/consumer-groups/{group}/lags/{topic}/partitions/0") == lag
        summary = get(proxy, f"/consumer-groups/{group}/lag-summary")
        assert (summary["max_lag"], summary["total_lag"], summary["max_lag_topic_name"]) == (4, 4, topic)
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/topics/nonesuch", 40403),
        ("/topics/nonesuch/configs", 40403),
        ("/topics/{topic}/partitions/9", 40402),
        ("/topics/{topic}/partitions/x/replicas", 40402),
        ("/topics/{topic}/partitions/0/replicas/99", 404),
        ("/topics/{topic}/configs/nonesuch", 404),
        ("/brokers/99", 404),
        ("/brokers/x/configs", 404),
        ("/consumer-groups/nonesuch", 40405),
        ("/consumer-groups/nonesuch/lag-summary", 40405),
    ],
)
def test_what_is_not_there_has_its_code(
    proxy: Proxy, new_topic: Callable[..., str], path: str, code: int
) -> None:
    answer = proxy.client.get(proxy.cluster() + path.format(topic=new_topic()))
    assert (answer.status_code, answer.json()["error_code"]) == (404, code)


def test_another_cluster_is_not_there(proxy: Proxy) -> None:
    assert proxy.client.get("/v3/clusters/other/topics").status_code == 404
