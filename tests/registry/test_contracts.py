"""Data contracts: metadata and rules that versions inherit, defaults, overrides, groups, reserved fields."""

from __future__ import annotations

from typing import Any

import httpx

from penstock.registry.contracts import in_group, merged_metadata, merged_rules
from penstock.registry.records import ConfigValue, SchemaValue

INT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
WIDER = (
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}'
)
OTHER = '{"type":"record","name":"R","fields":[{"name":"z","type":"string"}]}'


def register(http: httpx.Client, subject: str, **body: Any) -> httpx.Response:
    return http.post(f"/subjects/{subject}/versions", json=body)


def latest(http: httpx.Client, subject: str) -> dict[str, Any]:
    return dict(http.get(f"/subjects/{subject}/versions/latest").json())


def rule(name: str, expression: str) -> dict[str, str]:
    return {"name": name, "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": expression}


def test_defaults_come_first_and_overrides_last() -> None:
    config = ConfigValue(
        default_metadata={"properties": {"owner": "all", "tier": "1"}, "tags": {"a": ["PII"]}},
        override_metadata={"properties": {"tier": "9"}, "sensitive": ["s"]},
    )
    given = {"properties": {"owner": "me", "tier": "2"}, "tags": {"a": ["SECRET"], "b": ["X"]}}
    assert merged_metadata(config, given, None) == {
        "properties": {"owner": "me", "tier": "9"},
        "tags": {"a": ["PII", "SECRET"], "b": ["X"]},
        "sensitive": ["s"],
    }
    assert merged_metadata(ConfigValue(), None, None) is None


def test_rules_of_the_same_name_are_replaced_and_the_others_stay() -> None:
    config = ConfigValue(default_rule_set={"domainRules": [rule("a", "1"), rule("b", "1")]})
    found = merged_rules(config, {"domainRules": [rule("b", "2")]}, None)
    assert found == {"domainRules": [rule("a", "1"), rule("b", "2")]}


def test_what_a_request_leaves_out_is_that_of_the_version_before() -> None:
    before = SchemaValue("s", 1, 1, '"int"', metadata={"properties": {"owner": "me"}})
    assert merged_metadata(ConfigValue(), None, before) == {"properties": {"owner": "me"}}
    assert merged_metadata(ConfigValue(), {}, before) == {}


def test_only_versions_with_different_values_are_not_compared() -> None:
    one, two = ({"properties": {"major": value}} for value in ("1", "2"))
    assert not in_group("major", one, two)
    assert in_group("major", one, one)
    assert in_group("major", one, None)
    assert in_group("major", None, None)


def test_a_new_version_inherits_metadata_and_rules(http: httpx.Client, subject: str) -> None:
    rules = {"domainRules": [rule("positive", "message.a > 0")]}
    metadata = {"properties": {"owner": "me"}}
    assert register(http, subject, schema=INT, metadata=metadata, ruleSet=rules).status_code == 200
    assert register(http, subject, schema=WIDER).json()["version"] == 2
    answer = latest(http, subject)
    assert (answer["metadata"], answer["ruleSet"]) == (metadata, rules)
    assert register(http, subject, schema=INT).json()["version"] == 1, "the same schema is no new version"


def test_metadata_without_a_schema_is_a_new_version_of_the_latest_one(
    http: httpx.Client, subject: str
) -> None:
    register(http, subject, schema=INT)
    assert register(http, subject, metadata={"properties": {"owner": "me"}}).json()["version"] == 2
    answer = latest(http, subject)
    assert (answer["schema"], answer["metadata"]) == (INT, {"properties": {"owner": "me"}})
    assert register(http, f"{subject}-none", metadata={}).json()["error_code"] == 42201


def test_settings_give_every_version_its_defaults_and_overrides(http: httpx.Client, subject: str) -> None:
    settings = {
        "defaultMetadata": {"properties": {"team": "a"}},
        "overrideMetadata": {"properties": {"zone": "eu"}},
        "overrideRuleSet": {"domainRules": [rule("always", "true")]},
    }
    assert http.put(f"/config/{subject}", json=settings).json() == settings
    assert http.get(f"/config/{subject}").json() == {"compatibilityLevel": "BACKWARD", **settings}
    register(http, subject, schema=INT, metadata={"properties": {"team": "b", "zone": "us"}})
    answer = latest(http, subject)
    assert answer["metadata"] == {"properties": {"team": "b", "zone": "eu"}}
    assert answer["ruleSet"] == settings["overrideRuleSet"]


def test_versions_of_different_groups_are_not_compared(http: httpx.Client, subject: str) -> None:
    http.put(f"/config/{subject}", json={"compatibilityGroup": "major"})
    assert register(http, subject, schema=INT, metadata={"properties": {"major": "1"}}).status_code == 200
    assert register(http, subject, schema=OTHER, metadata={"properties": {"major": "1"}}).status_code == 409
    assert register(http, subject, schema=OTHER, metadata={"properties": {"major": "2"}}).status_code == 200
    assert register(http, subject, schema=INT, metadata={}).status_code == 409


def test_reserved_fields_may_not_be_used_nor_given_up(http: httpx.Client, subject: str) -> None:
    http.put(f"/config/{subject}", json={"validateFields": True})
    reserved = {"properties": {"confluent:reserved": "b, c"}}
    assert register(http, subject, schema=INT, metadata=reserved).status_code == 200
    refused = register(http, subject, schema=WIDER).json()
    assert (refused["error_code"], "reserved field b" in refused["message"]) == (42201, True)
    refused = register(http, subject, schema=WIDER, metadata={}).json()
    assert "reserved field b removed" in refused["message"]


def test_an_alias_stands_for_another_subject(http: httpx.Client, subject: str) -> None:
    made = register(http, subject, schema=INT).json()
    http.put(f"/config/{subject}-alias", json={"alias": subject})
    assert latest(http, f"{subject}-alias")["subject"] == subject
    assert http.get(f"/subjects/{subject}-alias/versions").json() == [1]
    assert http.post(f"/subjects/{subject}-alias", json={"schema": INT}).json()["id"] == made["id"]
    assert register(http, f"{subject}-alias", schema=WIDER).json()["version"] == 2
    assert http.get(f"/subjects/{subject}/versions").json() == [1, 2]


def tags(path: str, *words: str, kind: str = "sr_field") -> dict[str, Any]:
    return {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": list(words)}


def test_tags_are_put_into_the_schema_and_found_by_readers(http: httpx.Client, subject: str) -> None:
    assert register(http, subject, schema=INT, schemaTagsToAdd=[tags("R.a", "PII")]).json()["version"] == 1
    assert '"confluent:tags":["PII"]' in latest(http, subject)["schema"]
    changed = {
        "newVersion": 2,
        "tagsToAdd": [tags("R", "X", kind="sr_record")],
        "tagsToRemove": [tags("R.a", "PII")],
    }
    answer = http.post(f"/subjects/{subject}/versions/1/tags", json=changed).json()
    assert answer["version"] == 2
    assert latest(http, subject)["metadata"] == {"properties": {"confluent:version": "2"}}
    found = http.get(f"/subjects/{subject}/versions/2", params={"findTags": "*"}).json()
    assert found["schemaTags"] == [tags("R", "X", kind="sr_record")]
    none = http.get(f"/schemas/ids/{answer['id']}", params={"findTags": "PII"}).json()
    assert none["schemaTags"] == []
    nowhere = http.post(f"/subjects/{subject}/versions/latest/tags", json={"tagsToAdd": [tags("R.z", "Y")]})
    assert nowhere.json()["error_code"] == 42201


def test_tags_of_the_version_before_are_kept_when_asked(http: httpx.Client, subject: str) -> None:
    register(http, subject, schema=INT, schemaTagsToAdd=[tags("R.a", "PII")])
    register(http, subject, schema=WIDER, propagateSchemaTags=True)
    found = http.get(f"/subjects/{subject}/versions/2", params={"findTags": "PII"}).json()
    assert found["schemaTags"] == [tags("R.a", "PII")]


def test_rules_are_merged_and_removed_with_tags(http: httpx.Client, subject: str) -> None:
    register(http, subject, schema=INT, ruleSet={"domainRules": [rule("a", "1"), rule("b", "1")]})
    changed = {"rulesToMerge": {"domainRules": [rule("c", "1")]}, "rulesToRemove": ["a"]}
    assert http.post(f"/subjects/{subject}/versions/latest/tags", json=changed).json()["version"] == 2
    assert latest(http, subject)["ruleSet"] == {"domainRules": [rule("b", "1"), rule("c", "1")]}
    assert subject in {each["subject"] for each in http.get("/schemas", params={"ruleType": "CEL"}).json()}
    assert http.get("/schemas", params={"ruleType": "NONE_SUCH"}).json() == []


def test_the_version_in_the_metadata_is_that_of_the_schema(http: httpx.Client, subject: str) -> None:
    versioned = {"properties": {"confluent:version": "7"}}
    register(http, subject, schema=INT, metadata=versioned)
    assert latest(http, subject)["metadata"] == {"properties": {"confluent:version": "1"}}
    assert register(http, subject, schema=INT, metadata=versioned).json()["version"] == 1
    register(http, subject, schema=WIDER)
    assert latest(http, subject)["metadata"] == {"properties": {"confluent:version": "2"}}


def test_rules_that_no_client_could_run_are_refused_where_they_are_validated(
    http: httpx.Client, subject: str
) -> None:
    wrong = {"domainRules": [{**rule("a", "1"), "mode": "UPGRADE"}]}
    assert register(http, f"{subject}-free", schema=INT, ruleSet=wrong).status_code == 200
    http.put(f"/config/{subject}", json={"validateRules": True})
    assert register(http, subject, schema=INT, ruleSet=wrong).json()["error_code"] == 42210
    twice = {"domainRules": [rule("a", "1"), rule("a", "2")]}
    assert register(http, subject, schema=INT, ruleSet=twice).json()["error_code"] == 42210
    assert register(http, subject, schema=INT, ruleSet={"domainRules": [rule("a", "1")]}).status_code == 200


def test_new_schemas_are_not_validated_where_the_settings_say_so(http: httpx.Client, subject: str) -> None:
    wrong = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}'
    assert register(http, subject, schema=wrong).json()["error_code"] == 42201
    assert http.put(f"/config/{subject}", json={"validateNewSchemas": False}).status_code == 200
    assert http.get(f"/config/{subject}").json()["validateNewSchemas"] is False
    assert register(http, subject, schema=wrong).status_code == 200


def test_aliases_are_listed_with_their_subject(http: httpx.Client, subject: str) -> None:
    register(http, subject, schema=INT)
    http.put(f"/config/{subject}-a", json={"alias": subject})
    (found,) = http.get("/schemas", params={"subjectPrefix": subject, "aliases": True}).json()
    assert found["aliases"] == [f"{subject}-a"]


def test_a_soft_deletion_keeps_the_time_of_the_registration(http: httpx.Client, subject: str) -> None:
    register(http, subject, schema=INT)
    made = latest(http, subject)["ts"]
    http.delete(f"/subjects/{subject}/versions/1")
    found = http.get(f"/subjects/{subject}/versions/1", params={"deleted": True}).json()
    assert (found["createTs"], found["ts"] >= made) == (made, True)


def test_parts_that_are_empty_make_no_difference_to_a_look_up(http: httpx.Client) -> None:
    """Confluent's clients send back what they were told, with empty parts."""
    rule = {"name": "r", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}
    body = {"schema": '"int"', "metadata": {"properties": {"a": "b"}}, "ruleSet": {"domainRules": [rule]}}
    registered = http.post("/subjects/empty-parts/versions", json=body).json()
    again = {
        **body,
        "metadata": {"properties": {"a": "b"}, "tags": {}, "sensitive": []},
        "ruleSet": {
            "migrationRules": [],
            "domainRules": [{**rule, "tags": [], "params": {}, "disabled": False}],
        },
    }
    assert http.post("/subjects/empty-parts", json=again).json()["id"] == registered["id"]
    assert http.post("/subjects/empty-parts/versions", json=again).json()["id"] == registered["id"]
