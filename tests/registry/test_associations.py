"""Associations: a topic's subjects by its id and name, their owners, and the client that looks them up."""

from __future__ import annotations

from typing import Any

import httpx
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.registry.processes import RegistryProcess

INT = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'}
WIDER = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}'}


def associate(http: httpx.Client, topic: str, *, put: bool = False, **one: Any) -> httpx.Response:
    body = {
        "resourceName": topic,
        "resourceNamespace": "cluster",
        "resourceId": f"id-{topic}",
        "resourceType": "topic",
        "associations": [one],
    }
    if put:
        return http.put(f"/associations/resources/id-{topic}", json=body)
    return http.post("/associations", json=body)


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error_code"]


def test_a_topic_gets_a_subject_with_its_schema(http: httpx.Client, subject: str) -> None:
    made = associate(http, subject, subject=f"s-{subject}", lifecycle="STRONG", schema=INT)
    (one,) = made.json()["associations"]
    assert (one["subject"], one["associationType"], one["lifecycle"]) == (f"s-{subject}", "value", "STRONG")
    assert one["schema"]["version"] == 1
    assert http.get(f"/subjects/s-{subject}/versions").json() == [1]
    found = http.get(f"/associations/resources/id-{subject}").json()
    assert [each["subject"] for each in found] == [f"s-{subject}"]
    assert found[0]["createTs"] == found[0]["updateTs"]
    assert http.get(f"/associations/resources/-/{subject}").json() == found
    assert http.get(f"/associations/resources/cluster/{subject}").json() == found
    assert http.get(f"/associations/resources/other/{subject}").json() == []
    assert http.get(f"/associations/subjects/s-{subject}", params={"lifecycle": "WEAK"}).json() == []
    assert (
        http.get(f"/associations/subjects/s-{subject}", params={"associationType": "value"}).json() == found
    )


def test_the_same_association_again_is_no_change_and_another_is_40911(
    http: httpx.Client, subject: str
) -> None:
    for name in ("a", "b"):
        http.post(f"/subjects/{subject}-{name}/versions", json=INT)
    for _ in range(2):
        assert associate(http, subject, subject=f"{subject}-a").status_code == 200
    assert refused(associate(http, subject, subject=f"{subject}-b")) == (409, 40911)
    assert associate(http, subject, put=True, subject=f"{subject}-b").status_code == 200
    (found,) = http.get(f"/associations/resources/id-{subject}").json()
    assert (found["subject"], found["createTs"] <= found["updateTs"]) == (f"{subject}-b", True)


def test_a_subject_that_belongs_to_a_topic_has_no_other(http: httpx.Client, subject: str) -> None:
    associate(http, subject, subject=f"s-{subject}", lifecycle="STRONG", schema=INT)
    assert refused(associate(http, f"{subject}-2", subject=f"s-{subject}")) == (409, 40912)


def test_what_is_no_association_is_42212(http: httpx.Client, subject: str) -> None:
    assert refused(associate(http, subject, subject="nobody")) == (422, 42212)
    assert refused(associate(http, subject, associationType="header", schema=INT)) == (422, 42212)
    assert refused(associate(http, subject, frozen=True, lifecycle="WEAK", schema=INT)) == (422, 42212)
    assert refused(http.post("/associations", json={"resourceName": "x"})) == (422, 42212)


def test_a_frozen_association_goes_only_with_its_subject(http: httpx.Client, subject: str) -> None:
    associate(http, subject, lifecycle="STRONG", frozen=True, schema=INT)
    path = f"/associations/resources/id-{subject}"
    assert refused(associate(http, subject, put=True, lifecycle="WEAK", frozen=False)) == (409, 40913)
    assert refused(http.delete(path)) == (409, 40913)
    assert http.delete(path, params={"cascadeLifecycle": True, "dryRun": True}).status_code == 204
    assert http.get(f"/subjects/{subject}-value/versions").json() == [1]
    assert http.delete(path, params={"cascadeLifecycle": True}).status_code == 204
    assert refused(http.get(f"/subjects/{subject}-value/versions")) == (404, 40401)
    assert refused(http.delete(path)) == (404, 40411)


def test_a_batch_answers_each_request_in_its_place(http: httpx.Client, subject: str) -> None:
    def request(topic: str, **operation: Any) -> dict[str, Any]:
        return {"resourceName": topic, "resourceNamespace": "c", "resourceId": topic,
                "associations": [operation]}  # fmt: skip

    answer = http.post("/associations:batch", json={"requests": [
        request(f"{subject}-1", opType="CREATE", schema=INT),
        request(f"{subject}-2", opType="CREATE", subject="nobody"),
        request(f"{subject}-1", opType="UPSERT", lifecycle="STRONG"),
        request(f"{subject}-1", opType="DELETE"),
    ]})  # fmt: skip
    assert answer.status_code == 207
    results = answer.json()["results"]
    assert [each.get("error", {}).get("error_code") for each in results] == [None, 42212, None, None]
    assert http.get(f"/associations/resources/{subject}-1").json() == []


def test_a_subject_that_is_deleted_for_good_leaves_no_association(http: httpx.Client, subject: str) -> None:
    associate(http, subject, schema=INT)
    for permanent in (False, True):
        http.delete(f"/subjects/{subject}-value", params={"permanent": permanent})
    assert http.get(f"/associations/resources/id-{subject}").json() == []


def test_confluents_serialiser_takes_the_subject_that_is_associated(
    registry: RegistryProcess, http: httpx.Client, subject: str
) -> None:
    associate(http, subject, subject=f"chosen-{subject}", schema=INT)
    client = SchemaRegistryClient({"url": registry.url})
    serialise = AvroSerializer(client, INT["schema"])
    assert serialise({"a": 1}, SerializationContext(subject, MessageField.VALUE))
    assert http.get(f"/subjects/{subject}-value/versions").status_code == 404
    assert http.get(f"/subjects/chosen-{subject}/versions").json() == [1]


def test_schemas_are_listed_by_their_associations(http: httpx.Client, subject: str) -> None:
    associate(http, subject, subject=f"s-{subject}", lifecycle="STRONG", schema=INT)

    def listed(**wanted: str) -> list[str]:
        found = http.get("/schemas", params={"subjectPrefix": f"s-{subject}", **wanted}).json()
        return [each["subject"] for each in found]

    assert listed(lifecycle="STRONG", associationType="value", resourceType="topic") == [f"s-{subject}"]
    assert listed(lifecycle="WEAK") == []
