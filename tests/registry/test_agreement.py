"""Registries of one cluster agree, and a registry that is killed loses nothing and gives no id twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

from penstock.client.admin import Admin
from penstock.client.messages import Messages
from penstock.testing import Broker
from tests.registry.processes import RegistryProcess

CLIENTS = 8


def schema(number: int) -> dict[str, str]:
    return {"schema": f'{{"type":"record","name":"R{number}","fields":[{{"name":"a","type":"int"}}]}}'}


def register(client: httpx.Client, url: Callable[[], str], subject: str, number: int, deadline: float) -> int:
    """As a client does that goes on asking until it is answered."""
    while True:
        try:
            answer = client.post(f"{url()}/subjects/{subject}/versions", json=schema(number))
            if answer.status_code == 200:
                return int(answer.json()["id"])
            assert answer.status_code >= 500, answer.text
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the registry did not come back"
        time.sleep(0.05)  # the registry is down: nothing to wait on but its port


def check_dense(url: str, given: dict[int, set[int]], total: int) -> None:
    """Each schema has one id, no id has two schemas, none is left out; and all are there."""
    assert {number: len(ids) for number, ids in given.items()} == dict.fromkeys(range(total), 1)
    ids = sorted(next(iter(each)) for each in given.values())
    assert ids == list(range(1, total + 1))
    kept = httpx.get(f"{url}/schemas", params={"deleted": True}, timeout=30).json()
    assert {each["id"]: each["schema"] for each in kept} == {
        next(iter(ids)): schema(number)["schema"] for number, ids in given.items()
    }


def run_clients(
    urls: list[Callable[[], str]], total: int, disturb: Callable[[Callable[[], int]], None]
) -> dict[int, set[int]]:
    """Every schema is registered under its own subject and, by another client, under a second one."""
    given: dict[int, set[int]] = {number: set() for number in range(total)}
    lock = threading.Lock()
    deadline = time.monotonic() + 100

    def work(number: int, place: int) -> None:
        found = register(client, urls[(number + place) % len(urls)], f"s{number}-{place}", number, deadline)
        with lock:
            given[number].add(found)

    def done() -> int:
        with lock:
            return sum(map(bool, given.values()))

    with httpx.Client(timeout=5) as client, ThreadPoolExecutor(CLIENTS) as pool:
        tasks = [pool.submit(work, number, place) for number in range(total) for place in (0, 1)]
        disturb(done)
        for task in tasks:
            task.result()
    return given


def test_a_registry_killed_among_registrations_gives_dense_ids_and_loses_nothing(long_form: bool) -> None:
    total = 500 if long_form else 100  # each is registered twice
    with Broker() as broker, RegistryProcess(broker.bootstrap_servers) as registry:

        def kill(done: Callable[[], int]) -> None:
            for share in (0.3, 0.6):
                while done() < total * share:
                    time.sleep(0.01)
                registry.kill()
                registry.start()

        given = run_clients([lambda: registry.url], total, kill)
        check_dense(registry.url, given, total)
        registry.stop()
        registry.start()
        check_dense(registry.url, given, total)


def test_two_registries_give_the_same_ids_while_both_write() -> None:
    total = 60
    with (
        Broker() as broker,
        RegistryProcess(broker.bootstrap_servers) as one,
        RegistryProcess(broker.bootstrap_servers) as other,
    ):
        given = run_clients([lambda: one.url, lambda: other.url], total, lambda _done: None)
        for url in (one.url, other.url):
            check_dense(url, given, total)


def test_two_registries_that_are_killed_in_turn_give_dense_ids_in_every_context(long_form: bool) -> None:
    """Every schema is registered in three contexts, through either registry, while one of them is killed."""
    total = 340 if long_form else 40
    contexts = ("", ":.one:", ":.two:")
    given: dict[str, dict[int, set[int]]] = {context: {} for context in contexts}
    lock, deadline = threading.Lock(), time.monotonic() + 100
    with (
        Broker() as broker,
        RegistryProcess(broker.bootstrap_servers) as one,
        RegistryProcess(broker.bootstrap_servers) as other,
        httpx.Client(timeout=5) as client,
        ThreadPoolExecutor(CLIENTS) as pool,
    ):
        registries = (one, other)

        def work(number: int, context: str, place: int) -> None:
            registry = registries[(number + place) % 2]
            found = register(client, lambda: registry.url, f"{context}s{number}-{place}", number, deadline)
            with lock:
                given[context].setdefault(number, set()).add(found)

        tasks = [
            pool.submit(work, number, context, place)
            for number in range(total)
            for context in contexts
            for place in (0, 1)
        ]
        for victim, share in ((one, 0.2), (other, 0.4), (one, 0.6)):
            while sum(task.done() for task in tasks) < share * len(tasks):
                time.sleep(0.01)
            victim.kill()
            victim.start()
        for task in tasks:
            task.result()
        for context in contexts:
            assert {len(ids) for ids in given[context].values()} == {1}
            assert sorted(*zip(*given[context].values(), strict=True)) == list(range(1, total + 1))
        everywhere = {"subjectPrefix": ":*:"}
        kept = [
            client.get(f"{each.url}/schemas", params=everywhere, timeout=30).json() for each in registries
        ]
        assert len(kept[0]) == 6 * total
        assert kept[0] == kept[1]


def test_what_one_registry_deletes_is_gone_from_the_other_and_its_id_is_not_given_again() -> None:
    with (
        Broker() as broker,
        RegistryProcess(broker.bootstrap_servers) as one,
        RegistryProcess(broker.bootstrap_servers) as other,
    ):
        for number in range(3):
            assert (
                httpx.post(f"{one.url}/subjects/s{number}/versions", json=schema(number)).json()["id"]
                == number + 1
            )
        for permanent in ("false", "true"):
            assert httpx.delete(f"{one.url}/subjects/s2", params={"permanent": permanent}).json() == [1]
        other.stop()
        other.start()
        assert httpx.get(f"{other.url}/subjects").json() == ["s0", "s1"]
        assert httpx.post(f"{other.url}/subjects/s3/versions", json=schema(3)).json()["id"] == 4


CONFLUENTS_RECORDS = (
    ('{"keytype":"NOOP","magic":0}', None),
    ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"FULL","validateFields":false}'),
    ('{"keytype":"SCHEMA","subject":"old","version":1,"magic":1}',
     '{"subject":"old","version":1,"id":7,"md5":"bQ==","schema":"\\"int\\"","offset":2,"ts":1,"deleted":false}'),
    ('{"keytype":"SCHEMA","subject":"gone","version":1,"magic":1}',
     '{"subject":"gone","version":1,"id":8,"schema":"\\"string\\"","deleted":false}'),
    ('{"keytype":"DELETE_SUBJECT","subject":"gone","magic":0}', '{"subject":"gone","version":1}'),
    ('{"keytype":"CONTEXT","tenant":"default","context":".x","magic":0}',
     '{"tenant":"default","context":".x"}'),
)  # fmt: skip


def test_the_topic_of_confluents_registry_is_taken_over(broker: Broker) -> None:
    Admin(broker.bootstrap_servers).create_topic("taken-over", 1, 1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in CONFLUENTS_RECORDS:
        producer.produce("taken-over", value, key)
    assert producer.flush(10) == 0
    with RegistryProcess(broker.bootstrap_servers, "kafkastore.topic=taken-over") as registry:
        assert httpx.get(f"{registry.url}/config").json()["compatibilityLevel"] == "FULL"
        assert httpx.get(f"{registry.url}/subjects").json() == ["old"]
        assert httpx.get(f"{registry.url}/subjects?deleted=true").json() == ["gone", "old"]
        assert httpx.get(f"{registry.url}/schemas/ids/7").json()["schema"] == '"int"'
        assert httpx.post(f"{registry.url}/subjects/new/versions", json=schema(1)).json()["id"] == 9


PROTO = 'syntax = "proto3";\npackage p;\n\nmessage A {\n  int32 x = 1;\n}\nmessage B {\n  .p.A a = 1;\n}\n'
SPACED = PROTO.replace("}\nmessage", "}\n\nmessage").replace("  ", "    ")
"""The same schema as another release lays it out."""
RULE = {"name": "positive", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "message.a > 0"}
GUID = "5b2c8b0e-0000-4000-8000-00000000000a"


def confluents_schema(subject: str, version: int, schema_id: int, text: str, **more: Any) -> tuple[str, str]:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {
        "subject": subject,
        "version": version,
        "id": schema_id,
        "schema": text,
        "deleted": False,
        **more,
    }
    return json.dumps(key, separators=(",", ":")), json.dumps(value)


def test_every_schema_of_a_topic_that_was_taken_over_is_found_and_none_is_registered_twice(
    broker: Broker,
) -> None:
    topic = "taken-over-whole"
    Admin(broker.bootstrap_servers).create_topic(topic, 1, 1, {"cleanup.policy": "compact"})
    record = '{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":"int"}]}'
    json_schema = '{"type":"object","properties":{"a":{"type":"string"}}}'
    written = (
        ('{"keytype":"NOOP","magic":0}', None),
        confluents_schema("avro", 1, 11, record, guid=GUID),
        confluents_schema("json", 1, 12, json_schema, schemaType="JSON"),
        confluents_schema("proto", 1, 13, PROTO, schemaType="PROTOBUF"),
        confluents_schema("spaced", 1, 13, SPACED, schemaType="PROTOBUF"),
        confluents_schema(":.ctx:avro", 1, 5, record),
        ('{"keytype":"CONFIG","subject":"avro","magic":0}',
         '{"compatibilityLevel":"NONE","alias":null,"defaultMetadata":{"properties":{"owner":"me"}}}'),
        ('{"keytype":"CONTEXT","tenant":"default","context":".empty","magic":0}',
         '{"tenant":"default","context":".empty"}'),
        ('{"keytype":"A_LATER_KIND","magic":0}', "{}"),
    )  # fmt: skip
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in written:
        producer.produce(topic, value, key, timestamp=1_700_000_000_000)
    assert producer.flush(10) == 0
    asked = (
        ("avro", "AVRO", record, 11),
        ("json", "JSON", json_schema, 12),
        ("proto", "PROTOBUF", PROTO, 13),
        ("proto", "PROTOBUF", SPACED, 13),
        ("spaced", "PROTOBUF", PROTO, 13),
        (":.ctx:avro", "AVRO", record, 5),
    )
    with RegistryProcess(broker.bootstrap_servers, f"kafkastore.topic={topic}") as registry:
        url = registry.url
        for subject, kind, text, schema_id in asked:
            body = {"schema": text, "schemaType": kind}
            found = httpx.post(f"{url}/subjects/{subject}", json=body).json()
            assert (found["id"], found["version"]) == (schema_id, 1), (subject, text)
            again = httpx.post(f"{url}/subjects/{subject}/versions", json=body).json()
            assert again["id"] == schema_id
            context = {"subject": ":.ctx:"} if subject.startswith(":") else {}
            assert httpx.get(f"{url}/schemas/ids/{schema_id}", params=context).json()["schema"]
        assert Admin(broker.bootstrap_servers).end_offsets([(topic, 0)])[topic, 0] == len(written)
        elsewhere = httpx.post(
            f"{url}/subjects/new/versions", json={"schema": SPACED, "schemaType": "PROTOBUF"}
        )
        assert elsewhere.json()["id"] == 13
        assert httpx.get(f"{url}/schemas/guids/{GUID}").json()["schema"] == record
        assert httpx.get(f"{url}/subjects/avro/versions/1").json()["guid"] == GUID
        assert sorted(httpx.get(f"{url}/contexts").json()) == [".", ".ctx", ".empty"]
        httpx.put(f"{url}/config/avro", json={"compatibility": "FULL"})
    kept = Messages(broker.bootstrap_servers).page(topic).messages[0]
    assert kept.key == b'{"keytype":"CONFIG","subject":"avro","magic":0}'
    assert json.loads(kept.value or b"") == {
        "compatibilityLevel": "FULL",
        "defaultMetadata": {"properties": {"owner": "me"}},
    }


VALUES_OF_CONFLUENTS = {
    "SCHEMA": {"subject", "version", "id", "guid", "md5", "schemaType", "references", "metadata", "ruleSet",
               "schema", "schemaTags", "offset", "ts", "deleted"},
    "CONFIG": {"subject", "alias", "aliasForDeks", "normalize", "validateFields", "validateRules",
               "validateNewSchemas", "compatibilityLevel", "compatibilityPolicy", "compatibilityGroup",
               "defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet"},
    "MODE": {"subject", "mode"},
    "DELETE_SUBJECT": {"subject", "version"},
    "CONTEXT": {"tenant", "context"},
}  # fmt: skip
"""Fields of the values, by the kind of their keys, as the records of Confluent's registry have them."""
KEYS_OF_CONFLUENTS = {
    "SCHEMA": ["keytype", "subject", "version", "magic"],
    "CONFIG": ["keytype", "subject", "magic"],
    "MODE": ["keytype", "subject", "magic"],
    "DELETE_SUBJECT": ["keytype", "subject", "magic"],
    "CONTEXT": ["keytype", "tenant", "context", "magic"],
    "NOOP": ["keytype", "magic"],
}


def test_a_topic_that_is_given_back_has_only_records_that_confluents_registry_knows(broker: Broker) -> None:
    """And a reader of them alone finds everything that this registry told."""
    topic = "given-back"
    with RegistryProcess(broker.bootstrap_servers, f"kafkastore.topic={topic}") as registry:
        client = httpx.Client(base_url=registry.url)
        contract = {"metadata": {"properties": {"owner": "me"}}, "ruleSet": {"domainRules": [RULE]}}
        for subject in ("a", "b", "gone", "lost", ":.ctx:a"):
            assert client.post(f"/subjects/{subject}/versions", json=schema(1)).status_code == 200
        named = {"schema": '{"type":"record","name":"R2","fields":[{"name":"r","type":"R1"}]}',
                 "references": [{"name": "R1", "subject": "a", "version": 1}]}  # fmt: skip
        assert client.post("/subjects/refers/versions", json=named).status_code == 200
        assert client.post("/subjects/a/versions", json={**schema(1), **contract}).json()["version"] == 2
        proto = {"schema": PROTO, "schemaType": "PROTOBUF"}
        assert client.post("/subjects/proto/versions", json=proto).status_code == 200
        client.put("/config/a", json={"compatibility": "FULL", "alias": "b"})
        client.put("/config", json={"compatibility": "NONE"})
        client.put("/mode/b", json={"mode": "READONLY"})
        client.delete("/subjects/gone")
        client.delete("/subjects/lost")
        assert client.delete("/subjects/lost", params={"permanent": True}).json() == [1]
        told = client.get("/schemas", params={"subjectPrefix": ":*:", "deleted": True}).json()
        client.close()
    kept: dict[bytes, Any] = {}
    for record in reversed(Messages(broker.bootstrap_servers).page(topic, limit=200).messages):
        key = json.loads(record.key or b"")
        assert list(key) == KEYS_OF_CONFLUENTS[key["keytype"]]
        assert key["magic"] == (1 if key["keytype"] == "SCHEMA" else 0)
        assert json.dumps(key, separators=(",", ":")).encode() == record.key
        if record.value is None or key["keytype"] == "NOOP":
            kept.pop(record.key or b"", None)
            continue
        value = json.loads(record.value)
        assert value.keys() <= VALUES_OF_CONFLUENTS[key["keytype"]], value
        kept[record.key or b""] = key["keytype"], value
    schemas = [value for kind, value in kept.values() if kind == "SCHEMA"]
    gone = {value["subject"] for kind, value in kept.values() if kind == "DELETE_SUBJECT"}
    assert len(schemas) == len(told) == 7
    for each in told:
        (value,) = (v for v in schemas if (v["subject"], v["version"]) == (each["subject"], each["version"]))
        assert (value["id"], value["schema"], value["guid"]) == (each["id"], each["schema"], each["guid"])
        assert value.get("metadata") == each.get("metadata")
        assert value.get("ruleSet") == each.get("ruleSet")
        assert value.get("references") == each.get("references")
        assert each.get("deleted", False) == (value["deleted"] or value["subject"] in gone)


def test_a_topic_that_would_lose_schemas_is_refused(broker: Broker) -> None:
    Admin(broker.bootstrap_servers).create_topic("not-compacted", 1, 1, {"cleanup.policy": "delete"})
    with pytest.raises(RuntimeError):
        RegistryProcess(broker.bootstrap_servers, "kafkastore.topic=not-compacted").start()
