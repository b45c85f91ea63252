"""Each service behind HTTPS and a login, asked by curl: who comes in, and as whom the service acts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.schema_acls import sr_acl_cli
from tests.registry.test_subject_acls import ACL_AUTHORIZER
from tests.security.guarded_services import (
    GROUP,
    OTHER,
    SECONDS,
    TOPIC,
    Answer,
    GuardedBroker,
    ServiceProcess,
    curl,
)

SERVICES = ("registry", "rest", "sql", "connect")
PATHS = {"registry": "/subjects", "rest": "/topics", "sql": "/info", "connect": "/connectors"}
JSON = ("-H", "Content-Type: application/json")
V2 = "application/vnd.kafka.json.v2+json"
AVRO = {"schema": '"string"'}


@pytest.fixture
def service(request: pytest.FixtureRequest) -> ServiceProcess:
    found: ServiceProcess = request.getfixturevalue(request.param)
    return found


def asked(guarded: GuardedBroker, service: ServiceProcess, path: str, *options: str, **more: Any) -> Answer:
    return curl(guarded.authority.path, service.url + path, *options, **more)


@pytest.mark.parametrize("service", SERVICES, indirect=True)
def test_nobody_comes_in_without_the_right_password(guarded: GuardedBroker, service: ServiceProcess) -> None:
    path = PATHS[service.name]
    for options in (
        (),
        ("-u", "admin:wrong"),
        ("-u", "nobody:wrong"),
        ("-u", ":"),
        ("-H", "Authorization: Basic"),
        ("-H", "Authorization: Basic %%%"),
        ("-H", "Authorization: Bearer abc"),
        ("-H", "Authorization: Negotiate abc"),
    ):
        refused = asked(guarded, service, path, *options)
        assert refused.status == 401, (options, refused)
        assert 'www-authenticate: basic realm="tests"' in refused.headers.lower()
    assert asked(guarded, service, path, user="admin").status == 200


@pytest.mark.parametrize("service", SERVICES, indirect=True)
def test_plain_http_is_not_answered(guarded: GuardedBroker, service: ServiceProcess) -> None:
    with pytest.raises(AssertionError):
        curl(guarded.authority.path, service.url.replace("https:", "http:") + "/")


def test_the_proxy_acts_as_its_caller(guarded: GuardedBroker, rest: ServiceProcess) -> None:
    assert asked(guarded, rest, "/topics", user="alice").json == [TOPIC]
    assert asked(guarded, rest, "/topics", user="bob").json == []
    assert {TOPIC, OTHER} <= set(asked(guarded, rest, "/topics", user="admin").json)
    record = {"records": [{"value": {"a": 1}}]}
    as_json = ("-H", f"Content-Type: {V2}")
    written = asked(guarded, rest, f"/topics/{TOPIC}", *as_json, user="alice", data=record)
    assert (written.status, written.json["offsets"][0]["offset"]) == (200, 0)
    refused = asked(guarded, rest, f"/topics/{OTHER}", *as_json, user="alice", data=record)
    assert refused.status in (403, 404)
    assert asked(guarded, rest, f"/topics/{TOPIC}", *as_json, user="bob", data=record).status in (403, 404)


def test_an_instance_belongs_to_its_maker(guarded: GuardedBroker, rest: ServiceProcess) -> None:
    new = {"name": "mine", "format": "json", "auto.offset.reset": "earliest"}
    as_json = ("-H", "Content-Type: application/vnd.kafka.v2+json")
    made = asked(guarded, rest, f"/consumers/{GROUP}", *as_json, user="alice", data=new)
    assert made.status == 200, made
    path = f"/consumers/{GROUP}/instances/mine"
    for user in ("bob", "admin"):
        assert asked(guarded, rest, f"{path}/subscription", user=user).status == 404
        assert asked(guarded, rest, path, "-X", "DELETE", user=user).status == 404
    topics = {"topics": [TOPIC]}
    assert asked(guarded, rest, f"{path}/subscription", *as_json, user="alice", data=topics).status == 204
    assert asked(guarded, rest, path, "-X", "DELETE", user="alice").status == 204


def test_subjects_follow_the_rights_on_their_topics(guarded: GuardedBroker, registry: ServiceProcess) -> None:
    own, other = f"/subjects/{TOPIC}-value", f"/subjects/{OTHER}-value"
    assert asked(guarded, registry, f"{own}/versions", *JSON, user="bob", data=AVRO).status == 403
    made = asked(guarded, registry, f"{own}/versions", *JSON, user="alice", data=AVRO)
    assert made.status == 200, made
    hidden = asked(guarded, registry, f"{other}/versions", *JSON, user="admin", data={"schema": '"long"'})
    assert asked(guarded, registry, f"{other}/versions", user="alice").status == 403
    assert asked(guarded, registry, f"/schemas/ids/{hidden.json['id']}", user="alice").status == 403
    assert asked(guarded, registry, f"/schemas/ids/{made.json['id']}", user="alice").status == 200
    assert asked(guarded, registry, "/subjects", user="alice").json == [f"{TOPIC}-value"]
    assert asked(guarded, registry, "/subjects", user="bob").json == []
    assert [each["subject"] for each in asked(guarded, registry, "/schemas", user="alice").json] == [
        f"{TOPIC}-value"
    ]
    level = {"compatibility": "NONE"}
    assert asked(guarded, registry, "/config", "-X", "PUT", *JSON, user="alice", data=level).status == 403
    alias = {"alias": f"{OTHER}-value"}
    put = ("-X", "PUT", *JSON)
    assert asked(guarded, registry, f"/config/{TOPIC}-value", *put, user="alice", data=alias).status == 200
    assert asked(guarded, registry, f"{own}/versions/latest", user="alice").status == 403
    gone = asked(guarded, registry, f"/config/{TOPIC}-value", "-X", "DELETE", user="alice")
    assert gone.status == 403, "an alias of what its owner may not touch is mended by an administrator"
    assert asked(guarded, registry, f"/config/{TOPIC}-value", "-X", "DELETE", user="admin").status == 200


def test_a_schema_refers_only_to_what_its_caller_may_read(
    guarded: GuardedBroker, registry: ServiceProcess
) -> None:
    path = f"/subjects/{OTHER}-key/versions"
    record = '{"type":"record","name":"hidden.R","fields":[]}'
    assert asked(guarded, registry, path, *JSON, user="admin", data={"schema": record}).status == 200
    referring = {
        "schema": '{"type":"array","items":"hidden.R"}',
        "references": [{"name": "hidden.R", "subject": f"{OTHER}-key", "version": 1}],
    }
    path = f"/subjects/{TOPIC}-key"
    assert asked(guarded, registry, f"{path}/versions", *JSON, user="alice", data=referring).status == 403
    assert asked(guarded, registry, path, *JSON, user="alice", data=referring).status == 403


def test_statements_need_rights(guarded: GuardedBroker, sql: ServiceProcess) -> None:
    create = {
        "ksql": f"CREATE STREAM S (a INT) WITH (kafka_topic='{TOPIC}', value_format='json');"
        f"CREATE STREAM H (a INT) WITH (kafka_topic='{OTHER}', value_format='json');"
    }
    assert asked(guarded, sql, "/ksql", *JSON, user="alice", data=create).status == 403
    assert asked(guarded, sql, "/ksql", *JSON, user="admin", data=create).status == 200
    select = {"sql": "SELECT * FROM S;"}
    assert asked(guarded, sql, "/query-stream", *JSON, user="bob", data=select).status == 403
    assert asked(guarded, sql, "/query-stream", *JSON, user="alice", data=select).status == 200
    hidden = asked(guarded, sql, "/query-stream", *JSON, user="alice", data={"sql": "SELECT * FROM H;"})
    assert (hidden.status, hidden.json["error_code"]) == (403, 40301)
    printed = asked(guarded, sql, "/query", *JSON, user="alice", data={"ksql": f"PRINT '{OTHER}' LIMIT 1;"})
    assert printed.status == 403


def test_connectors_are_for_administrators(guarded: GuardedBroker, connect: ServiceProcess) -> None:
    config = {
        "name": "file",
        "config": {"connector.class": "FileStreamSource", "file": "/etc/passwd", "topic": TOPIC},
    }
    assert asked(guarded, connect, "/connectors", user="alice").status == 403
    assert asked(guarded, connect, "/connectors", *JSON, user="alice", data=config).status == 403
    assert asked(guarded, connect, "/", user="alice").status == 200
    assert asked(guarded, connect, "/connectors", user="admin").json == []


def test_the_registrys_own_entries_decide_when_they_are_asked_for(guarded: GuardedBroker) -> None:
    client = {f"kafkastore.{name}": value for name, value in guarded.client("service").items()}
    own = {
        "confluent.schema.registry.authorizer.class": ACL_AUTHORIZER,
        "kafkastore.topic": "_own_schemas",
        "kafkastore.bootstrap.servers": guarded.address,
    }
    settings = {**guarded.door(), **guarded.own_store(), **client, **own}
    folder = guarded.folder / "own"
    folder.mkdir()
    service = ServiceProcess(folder, "registry", settings, guarded.address).start()
    try:
        path = "/subjects/s-value/versions"
        assert asked(guarded, service, path, *JSON, user="admin", data=AVRO).status == 403
        command = ["--config", str(folder / "registry.properties"), "--add"]
        for words in (
            ("-s", "s-value", "-p", "bob", "-o", "SUBJECT_WRITE"),
            ("-p", "bob", "-o", "GLOBAL_READ"),
        ):
            done = CliRunner().invoke(sr_acl_cli, [*command, *words])
            assert done.exit_code == 0, done.output
        wait_until(lambda: asked(guarded, service, path, *JSON, user="bob", data=AVRO).status == 200)
        wait_until(lambda: asked(guarded, service, "/subjects", user="bob").json == ["s-value"])
        assert asked(guarded, service, "/subjects", user="admin").json == []
        assert asked(guarded, service, f"{path}/1", user="bob").status == 403
        assert any("is Denied operation = SUBJECT_READ" in line for line in service.lines)
    finally:
        service.stop()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Entries are read by the service a moment after they were written."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
