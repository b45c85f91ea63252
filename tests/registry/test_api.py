"""The REST API: every refusal has Confluent's status and code, every answer its form."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

INT = {"schema": '"int"'}
LONG = {"schema": '"long"'}
STRING = {"schema": '"string"'}


def register(http: httpx.Client, subject: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
    answer = http.post(f"/subjects/{subject}/versions", json=body, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error_code"]


def test_a_schema_has_one_id_under_every_subject(http: httpx.Client, subject: str) -> None:
    first = register(http, subject, INT)
    assert register(http, f"{subject}-too", {"schema": '{"type":"int"}'})["id"] == first["id"]
    answer = http.get(f"/subjects/{subject}/versions/1").json()
    guid = answer.pop("guid")
    assert abs(answer.pop("ts") - time.time() * 1000) < 60_000
    expected = {"subject": subject, "version": 1, "id": first["id"], "schemaType": "AVRO", "schema": '"int"'}
    assert answer == expected
    by_id = http.get(f"/schemas/ids/{first['id']}", params={"fetchMaxId": True}).json()
    assert (by_id["schema"], by_id["maxId"] >= first["id"]) == ('"int"', True)
    assert {subject, f"{subject}-too"} <= set(http.get(f"/schemas/ids/{first['id']}/subjects").json())
    versions = http.get(f"/schemas/ids/{first['id']}/versions").json()
    assert {"subject": subject, "version": 1} in versions
    assert http.get(f"/schemas/ids/{first['id']}/schema").text == '"int"'
    assert http.get(f"/schemas/guids/{guid}").json()["schema"] == '"int"'
    assert http.get(f"/schemas/guids/{guid}/ids").json() == [{"context": ".", "id": first["id"]}]


def test_what_is_not_there_has_its_own_code(http: httpx.Client, subject: str) -> None:
    assert refused(http.get(f"/subjects/{subject}/versions")) == (404, 40401)
    assert refused(http.get(f"/subjects/{subject}/versions/1")) == (404, 40401)
    assert refused(http.delete(f"/subjects/{subject}")) == (404, 40401)
    register(http, subject, INT)
    assert refused(http.get(f"/subjects/{subject}/versions/2")) == (404, 40402)
    assert refused(http.get(f"/subjects/{subject}/versions/x")) == (422, 42202)
    assert refused(http.get("/schemas/ids/99999999")) == (404, 40403)
    assert refused(http.get("/schemas/ids/x")) == (404, 40403)
    assert refused(http.post(f"/subjects/{subject}", json=STRING)) == (404, 40403)
    assert refused(http.get(f"/config/{subject}")) == (404, 40408)
    assert refused(http.get(f"/mode/{subject}")) == (404, 40409)


@pytest.mark.parametrize(
    "body",
    [
        {"schema": "{"},
        {"schema": ""},
        {},
        {"schema": "x", "schemaType": "XML"},
        {"schema": '"a.B"', "references": [{"name": "a.B", "subject": "nowhere", "version": 1}]},
    ],
)
def test_what_is_no_schema_is_42201(http: httpx.Client, subject: str, body: dict[str, Any]) -> None:
    assert refused(http.post(f"/subjects/{subject}/versions", json=body)) == (422, 42201)


def test_an_incompatible_schema_is_409_and_the_check_tells_why(http: httpx.Client, subject: str) -> None:
    register(http, subject, LONG)
    assert refused(http.post(f"/subjects/{subject}/versions", json=STRING)) == (409, 409)
    path = f"/compatibility/subjects/{subject}/versions"
    assert http.post(f"{path}/latest", json=INT).json() == {"is_compatible": False}
    told = http.post(f"{path}/1", json=INT, params={"verbose": True}).json()
    assert not told["is_compatible"]
    assert "TYPE_MISMATCH" in told["messages"][0]
    assert http.post(path, json=LONG, params={"verbose": True}).json() == {
        "is_compatible": True,
        "messages": [],
    }
    assert refused(http.post(f"{path}/9", json=LONG)) == (404, 40402)


def test_deleting_is_soft_first_and_for_good_second(http: httpx.Client, subject: str) -> None:
    http.put(f"/config/{subject}", json={"compatibility": "NONE"})
    register(http, subject, INT)
    last = register(http, subject, STRING)
    path = f"/subjects/{subject}/versions"
    assert refused(http.delete(f"{path}/1", params={"permanent": True})) == (404, 40407)
    assert http.delete(f"{path}/1").json() == 1
    assert refused(http.delete(f"{path}/1")) == (404, 40406)
    assert http.get(path).json() == [2]
    assert http.get(path, params={"deleted": True}).json() == [1, 2]
    assert http.get(path, params={"deletedOnly": True}).json() == [1]
    assert http.get(f"{path}/1", params={"deleted": True}).json()["deleted"] is True
    assert register(http, subject, INT)["version"] == 3
    assert refused(http.delete(f"/subjects/{subject}", params={"permanent": True})) == (404, 40405)
    assert http.delete(f"/subjects/{subject}").json() == [2, 3]
    assert refused(http.delete(f"/subjects/{subject}")) == (404, 40404)
    assert subject not in http.get("/subjects").json()
    assert subject in http.get("/subjects", params={"deleted": True, "subjectPrefix": subject}).json()
    assert http.delete(f"/subjects/{subject}", params={"permanent": True}).json() == [1, 2, 3]
    assert refused(http.get(path, params={"deleted": True})) == (404, 40401)
    assert (
        register(http, subject, {"schema": f'{{"type":"fixed","size":1,"name":"F{subject[8:]}"}}'})["id"]
        > last["id"]
    )


def test_what_is_referred_to_cannot_be_deleted(http: httpx.Client, subject: str) -> None:
    name = f"N{subject[8:]}"
    register(http, subject, {"schema": f'{{"type":"enum","name":"{name}","symbols":["A"]}}'})
    body = {
        "schema": f'{{"type":"array","items":"{name}"}}',
        "references": [{"name": name, "subject": subject, "version": 1}],
    }
    used = register(http, f"{subject}-user", body)
    assert http.get(f"/subjects/{subject}/versions/1/referencedby").json() == [used["id"]]
    assert refused(http.delete(f"/subjects/{subject}/versions/1")) == (422, 42206)
    assert refused(http.delete(f"/subjects/{subject}")) == (422, 42206)
    resolved = http.get(f"/schemas/ids/{used['id']}", params={"format": "resolved"}).json()["schema"]
    assert "symbols" in resolved
    inlined = http.post(f"/subjects/{subject}-user", json={"schema": resolved}).json()
    assert inlined["id"] == used["id"]
    http.delete(f"/subjects/{subject}-user")  # a deleted one keeps nothing
    assert http.delete(f"/subjects/{subject}").json() == [1]


def test_a_subject_that_does_not_exist_yet_is_compatible_with_everything(
    http: httpx.Client, subject: str
) -> None:
    path = f"/compatibility/subjects/{subject}/versions"
    assert http.post(path, json=INT).json() == {"is_compatible": True}
    assert http.post(f"{path}/latest", json=INT).json() == {"is_compatible": True}
    assert refused(http.post(f"{path}/1", json=INT)) == (404, 40401)


def test_levels_are_the_subjects_or_those_of_the_registry(http: httpx.Client, subject: str) -> None:
    assert http.get("/config").json() == {"compatibilityLevel": "BACKWARD"}
    assert refused(http.put("/config", json={"compatibility": "SIDEWAYS"})) == (422, 42203)
    assert http.put(f"/config/{subject}", json={"compatibility": "full"}).json() == {"compatibility": "FULL"}
    assert http.get(f"/config/{subject}").json() == {"compatibilityLevel": "FULL"}
    assert http.delete(f"/config/{subject}").json() == {"compatibilityLevel": "FULL"}
    assert http.get(f"/config/{subject}", params={"defaultToGlobal": True}).json() == {
        "compatibilityLevel": "BACKWARD"
    }
    assert refused(http.put(f"/config/{subject}", json={"aliasForDeks": "x"})) == (422, 42205)
    http.put(f"/config/{subject}", json={"normalize": True})
    assert http.get(f"/config/{subject}").json() == {"compatibilityLevel": "BACKWARD", "normalize": True}


def test_modes_forbid_writing_or_allow_ids_to_be_given(http: httpx.Client, subject: str) -> None:
    assert http.get("/mode").json() == {"mode": "READWRITE"}
    assert refused(http.put(f"/mode/{subject}", json={"mode": "SLEEPING"})) == (422, 42204)
    with_id = {**INT, "id": 70_000, "version": 5}
    assert refused(http.post(f"/subjects/{subject}/versions", json={**STRING, "id": 5})) == (422, 42205)
    http.put(f"/mode/{subject}", json={"mode": "IMPORT"})
    assert refused(http.post(f"/subjects/{subject}/versions", json=STRING)) == (422, 42205)
    # an id in a context of its own, so that the ids of the other tests stay small
    other = f":.{subject}:imported"
    http.put(f"/mode/{other}", json={"mode": "IMPORT"})
    assert register(http, other, with_id)["version"] == 5
    assert refused(http.post(f"/subjects/{other}/versions", json={**STRING, "id": 70_000})) == (422, 42205)
    http.put(f"/mode/{subject}", json={"mode": "READONLY"})
    assert refused(http.post(f"/subjects/{subject}/versions", json=INT)) == (422, 42205)
    assert refused(http.put(f"/mode/{other}", json={"mode": "IMPORT"})) == (422, 42205)
    assert http.delete(f"/mode/{subject}").json() == {"mode": "READONLY"}
    http.put(f"/mode/{subject}", json={"mode": "READONLY"})
    assert http.put(f"/mode/{subject}", json={"mode": None}).status_code == 200
    assert refused(http.get(f"/mode/{subject}")) == (404, 40409)


def test_modes_of_everything_inside_a_context_are_taken_away(http: httpx.Client, subject: str) -> None:
    context = f":.modes-{subject}:"
    for name in (context, f"{context}a", f"{context}b"):
        http.put(f"/mode/{name}", json={"mode": "READONLY"})
    http.put(f"/mode/{subject}", json={"mode": "READONLY"})
    assert http.delete(f"/mode/{context}", params={"recursive": True}).json() == {"mode": "READONLY"}
    for name in (context, f"{context}a", f"{context}b"):
        assert refused(http.get(f"/mode/{name}")) == (404, 40409)
    assert http.get(f"/mode/{subject}").json() == {"mode": "READONLY"}
    http.delete(f"/mode/{subject}")


def test_contexts_have_ids_of_their_own(http: httpx.Client, subject: str) -> None:
    inside = f":.c{subject[8:]}:{subject}"
    assert register(http, inside, INT)["id"] == 1
    assert f".c{subject[8:]}" in http.get("/contexts").json()
    assert http.get("/schemas/ids/1", params={"subject": inside}).json()["schema"] == '"int"'
    assert http.get("/subjects", params={"subjectPrefix": f":.c{subject[8:]}:"}).json() == [inside]


def test_metadata_and_rules_are_kept_and_part_of_the_schema(http: httpx.Client, subject: str) -> None:
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
    body = {**INT, "metadata": {"properties": {"owner": "ada"}}, "ruleSet": {"domainRules": [rule]}}
    register(http, subject, body)
    answer = http.get(f"/subjects/{subject}/versions/latest").json()
    assert answer["metadata"] == body["metadata"]
    assert rule.items() <= answer["ruleSet"]["domainRules"][0].items()
    assert register(http, subject, INT)["version"] == 1
    found = http.get(f"/subjects/{subject}/metadata", params={"key": "owner", "value": "ada"})
    assert found.json()["version"] == 1
    other = http.get(f"/subjects/{subject}/metadata", params={"key": "owner", "value": "eve"})
    assert refused(other) == (404, 40403)


def test_a_normal_form_finds_what_another_order_hides(http: httpx.Client, subject: str) -> None:
    one = {"schema": '{"type":"object","title":"t"}', "schemaType": "JSON"}
    other = {"schema": '{"title":"t","type":"object"}', "schemaType": "JSON"}
    register(http, subject, one, normalize=True)
    assert refused(http.post(f"/subjects/{subject}", json=one)) == (404, 40403)
    assert http.post(f"/subjects/{subject}", json=one, params={"normalize": True}).json()["version"] == 1
    assert http.post(f"/subjects/{subject}", json=other).status_code in (200, 404)
    assert register(http, subject, other, normalize=True)["version"] == 1


def test_lists_come_in_pages(http: httpx.Client, subject: str) -> None:
    for at in range(5):
        register(http, f"{subject}-page-{at}", INT)
    query = {"subjectPrefix": f"{subject}-page-", "offset": 1, "limit": 2}
    assert http.get("/subjects", params=query).json() == [f"{subject}-page-1", f"{subject}-page-2"]
    assert [each["subject"] for each in http.get("/schemas", params=query).json()] == [
        f"{subject}-page-1", f"{subject}-page-2"
    ]  # fmt: skip


def test_the_registry_tells_of_itself(http: httpx.Client) -> None:
    assert http.get("/").json() == {}
    assert set(http.get("/schemas/types").json()) == {"AVRO", "JSON", "PROTOBUF"}
    assert "kafka-cluster" in http.get("/v1/metadata/id").json()["scope"]["clusters"]
    assert "version" in http.get("/v1/metadata/version").json()
    assert http.get("/v1/metadata/deployment").json() == {"attributes": []}
    v1 = "application/vnd.schemaregistry.v1+json"
    assert http.get("/subjects", headers={"accept": f"{v1}, application/json"}).headers["content-type"] == v1
    assert http.get("/subjects", headers={"accept": "text/html"}).status_code == 406


def test_a_subject_may_contain_anything_that_a_path_can_say(http: httpx.Client, subject: str) -> None:
    name = f"{subject}/a b%ü"
    path = f"/subjects/{httpx.QueryParams({'x': name})['x'] and subject}%2Fa%20b%25%C3%BC/versions"
    assert http.post(path, content=json.dumps(INT)).status_code == 200
    assert name in http.get("/subjects").json()
