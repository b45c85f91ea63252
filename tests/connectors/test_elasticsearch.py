"""The Elasticsearch and OpenSearch sink against a stand-in of their bulk API: no such server was there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.test_kit import run_sink
from penstock.connect.connectors.elasticsearch.sink import ElasticsearchSink
from penstock.connect.connectors.http.requests import StatusError
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError, RetriableError
from tests.connectors.web_server import Answer, Asked, WebServer

USER = s.struct_schema({"name": s.STRING, "age": s.INT32.as_optional()})


class Index:
    """Documents with versions, as the bulk API keeps them. A document with the field `bad` is refused."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], dict[str, Any]] = {}
        self.versions: dict[tuple[str, str], int] = {}
        self.busy = 0

    def answer(self, asked: Asked) -> Answer:
        assert (asked.method, asked.path) == ("POST", "/_bulk")
        assert asked.headers["content-type"] == "application/x-ndjson"
        lines = iter(asked.body.splitlines())
        items = []
        for line in lines:
            [(kind, target)] = json.loads(line).items()
            body = None if kind == "delete" else json.loads(next(lines))
            status = self._done(kind, target, body)
            error = {"type": "mapper_parsing_exception", "reason": "bad"} if status == 400 else None
            items.append({kind: {"status": status, **({"error": error} if error else {})}})
        return 200, json.dumps({"errors": True, "items": items}).encode()

    def _done(self, kind: str, target: dict[str, Any], body: Any) -> int:
        key = (target["_index"], target["_id"])
        if self.busy:
            self.busy -= 1
            return 429
        if body is not None and "bad" in body:
            return 400
        version = target.get("version")
        if (version is not None and self.versions.get(key, -1) >= version) or (
            kind == "create" and key in self.documents
        ):
            return 409
        if version is not None:
            self.versions[key] = version
        match kind:
            case "delete":
                return 200 if self.documents.pop(key, None) else 404
            case "update":
                self.documents[key] = {**self.documents.get(key, {}), **body["doc"]}
            case _:
                self.documents[key] = body
        return 201


@pytest.fixture(scope="module")
def running() -> Iterator[WebServer]:
    server = WebServer().start()
    yield server
    server.close()


@pytest.fixture
def server(running: WebServer) -> WebServer:
    running.reset()
    return running


@pytest.fixture
def index(server: WebServer) -> Index:
    made = Index()
    server.answer = made.answer
    return made


def settings(server: WebServer, **more: str) -> dict[str, str]:
    config = {"connection.url": server.url, "retry.backoff.ms": "1", "max.retries": "3"}
    return config | {name.replace("_", "."): value for name, value in more.items()}


def user(offset: int, key: Any, value: Any, schema: Any = None) -> ConnectRecord:
    return ConnectRecord("Users", 0, key, None, value, schema, offset=offset)


def test_documents_by_key_and_a_batch_that_comes_again(server: WebServer, index: Index) -> None:
    records = [
        user(0, "a", Struct(USER, {"name": "Ann", "age": 7}), USER), user(1, "b", {"name": "Bo"}),
        user(2, "a", {"name": "Anna"}), user(3, "b", None),
    ]  # fmt: skip
    config = settings(server, behavior_on_null_values="delete")
    run_sink(ElasticsearchSink, config, records)
    assert index.documents == {("users", "a"): {"name": "Anna"}}
    run_sink(ElasticsearchSink, config, records)  # older ones do not take the place of later ones
    assert index.documents == {("users", "a"): {"name": "Anna"}}


def test_documents_without_keys_and_upserts(server: WebServer, index: Index) -> None:
    run_sink(ElasticsearchSink, settings(server, key_ignore="true"), [user(7, None, {"x": 1})])
    assert index.documents == {("users", "Users+0+7"): {"x": 1}}
    index.documents.clear()
    config = settings(server, write_method="upsert", topic_to_external_resource_mapping="Users:people")
    run_sink(ElasticsearchSink, config, [user(0, 1, {"x": 1}), user(1, 1, {"y": 2})])
    assert index.documents == {("people", "1"): {"x": 1, "y": 2}}


def test_a_data_stream_takes_each_record_once(server: WebServer, index: Index) -> None:
    config = settings(server, data_stream_type="logs", key_ignore="true")
    for _ in range(2):
        run_sink(ElasticsearchSink, config, [user(0, None, {"m": "x"})])
    assert list(index.documents) == [("logs-users-default", "Users+0+0")]


def test_requests_are_bounded_by_records_and_bytes(server: WebServer, index: Index) -> None:
    records = [user(number, str(number), {"n": number}) for number in range(5)]
    run_sink(ElasticsearchSink, settings(server, batch_size="2"), records)
    assert [len(each.body.splitlines()) // 2 for each in server.asked] == [2, 2, 1]
    server.asked.clear()
    run_sink(ElasticsearchSink, settings(server, bulk_size_bytes="10"), records)
    assert len(server.asked) == 5


def test_what_the_server_is_too_busy_for_is_sent_again(server: WebServer, index: Index) -> None:
    index.busy = 2
    run_sink(ElasticsearchSink, settings(server), [user(n, str(n), {"n": n}) for n in range(3)])
    assert len(index.documents) == 3
    assert [len(each.body.splitlines()) // 2 for each in server.asked] == [3, 2]
    index.busy = 10**9
    with pytest.raises(RetriableError, match="busy"):
        run_sink(ElasticsearchSink, settings(server), [user(9, "z", {"n": 9})])
    both = settings(server, connection_url=f"http://127.0.0.1:1,{server.url}")
    index.busy = 0
    run_sink(ElasticsearchSink, both, [user(10, "y", {"n": 1})])  # the first node is gone
    assert ("users", "y") in index.documents


def test_a_document_that_is_refused_is_rejected_or_left_out(server: WebServer, index: Index) -> None:
    records = [user(0, "a", {"bad": 1}), user(1, "b", {"good": 1})]
    with pytest.raises(DataError, match="mapper_parsing_exception"):
        run_sink(ElasticsearchSink, settings(server), records)
    assert list(index.documents) == [("users", "b")]
    run_sink(ElasticsearchSink, settings(server, behavior_on_malformed_documents="warn"), records)
    server.answer = lambda _: (401, b"who are you")
    with pytest.raises(StatusError, match="401"):
        run_sink(ElasticsearchSink, settings(server), records)


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [("t", None, {"x": 1}), ("t", {"k": 1}, {"x": 1}), ("t", "k", "text"), ("t", "k", None),
     ("_t", "k", {"x": 1}),
     ("a/../b", "k", {"x": 1}), ("t", "k" * 600, {"x": 1})],
)  # fmt: skip
def test_what_has_no_form_as_a_document(server: WebServer, topic: str, key: Any, value: Any) -> None:
    with pytest.raises(DataError):
        run_sink(ElasticsearchSink, settings(server), [ConnectRecord(topic, 0, key, None, value, offset=0)])
    assert server.asked == []


def test_every_mistake_is_reported(server: WebServer) -> None:
    bad = settings(server, connection_url="http://169.254.169.254,ftp://x", connection_username="u",
                   type_name="_doc", elastic_security_protocol="SSL")  # fmt: skip
    assert sorted(name for name, _ in ElasticsearchSink.check(bad)) == [
        "connection.password", "connection.url", "connection.url", "elastic.security.protocol", "type.name",
    ]  # fmt: skip
    assert "connection.password" in ElasticsearchSink.CONFIG.secret
