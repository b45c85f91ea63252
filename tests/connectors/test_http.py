"""HTTP sink and source against a server of this machine."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.source import SourceOffsets
from penstock.connect.api.test_kit import run_sink, run_source
from penstock.connect.config.validation import Defaults
from penstock.connect.connectors.http.requests import StatusError
from penstock.connect.connectors.http.sink import HttpSink
from penstock.connect.connectors.http.source import HttpSource
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError, DataError, RetriableError
from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.protocol.topic_partition import TopicPartition
from tests.connectors.web_server import Answer, Asked, WebServer

USER = s.struct_schema({"id": s.INT32, "name": s.STRING})
TEXT = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture(scope="module")
def running() -> Iterator[WebServer]:
    server = WebServer().start()
    yield server
    server.close()


@pytest.fixture
def server(running: WebServer) -> WebServer:
    running.reset()
    return running


def sink(server: WebServer, path: str = "/in", **more: str) -> dict[str, str]:
    config = {"http.api.url": server.url + path, "max.retries": "2", "retry.backoff.ms": "1"}
    return config | {name.replace("_", "."): value for name, value in more.items()}


def record(offset: int, key: Any, value: Any, schema: Any = None) -> ConnectRecord:
    return ConnectRecord("users", 0, key, None, value, schema, offset=offset)


def test_each_record_is_a_request_with_headers_and_credentials(server: WebServer) -> None:
    config = sink(
        server, headers="X-One:1|X-Two: b:c", auth_type="BASIC", connection_user="me",
        connection_password="secret", request_body_format="json",
    )  # fmt: skip
    run_sink(HttpSink, config, [record(0, "a", Struct(USER, {"id": 1, "name": "é"}), USER)])
    [asked] = server.asked
    assert (asked.method, asked.path, json.loads(asked.body)) == ("POST", "/in", {"id": 1, "name": "é"})
    assert (asked.headers["x-one"], asked.headers["x-two"]) == ("1", "b:c")
    assert asked.headers["content-type"] == "application/json"
    assert base64.b64decode(asked.headers["authorization"].split()[1]) == b"me:secret"


def test_words_of_the_address_are_quoted(server: WebServer) -> None:
    config = sink(server, "/${topic}/${key}/x?q=${name}", request_method="put")
    run_sink(HttpSink, config, [record(0, "../a?b#c", {"name": "d&e=f"})])
    assert server.asked[0].path == "/users/..%2Fa%3Fb%23c/x?q=d%26e%3Df"
    with pytest.raises(DataError, match="no field name"):
        run_sink(HttpSink, config, [record(0, "k", {})])
    with pytest.raises(DataError, match="no key"):
        run_sink(HttpSink, config, [record(0, None, {"name": "x"})])


def test_records_are_sent_together(server: WebServer) -> None:
    config = sink(server, batch_max_size="3", batch_prefix="<", batch_suffix=">", batch_separator=";")
    run_sink(HttpSink, config, [record(number, None, f"v{number}") for number in range(5)])
    assert [each.body for each in server.asked] == [b"<v0;v1;v2>", b"<v3;v4>"]
    server.reset()
    config = sink(
        server, "/${key}", batch_max_size="9", batch_json_as_array="true", request_body_format="json"
    )
    run_sink(
        HttpSink, config, [record(0, "a", 1), record(1, "a", None), record(2, "a", 2), record(3, "b", 3)]
    )
    assert [(each.path, json.loads(each.body)) for each in server.asked] == [
        ("/a", [1]), ("/a", [2]), ("/b", [3]),
    ]  # fmt: skip


def test_a_record_without_a_value_deletes_or_fails(server: WebServer) -> None:
    run_sink(HttpSink, sink(server, "/${key}", behavior_on_null_values="delete"), [record(0, "a", None)])
    assert [(each.method, each.path, each.body) for each in server.asked] == [("DELETE", "/a", b"")]
    with pytest.raises(DataError, match="no value"):
        run_sink(HttpSink, sink(server, behavior_on_null_values="fail"), [record(0, "a", None)])


def test_what_may_pass_is_tried_again_and_then_given_up(server: WebServer) -> None:
    answers = iter([(503, b"", {"Retry-After": "0"}), (200, b"")])
    server.answer = lambda _: next(answers)
    run_sink(HttpSink, sink(server), [record(0, None, "x")])
    assert len(server.asked) == 2
    server.reset()
    server.answer = lambda _: (500, b"down")
    with pytest.raises(RetriableError, match="500: down"):
        run_sink(HttpSink, sink(server), [record(0, None, "x")])
    assert len(server.asked) == 3
    run_sink(HttpSink, sink(server, behavior_on_error="ignore"), [record(0, None, "x")])
    with pytest.raises(RetriableError):
        run_sink(HttpSink, {**sink(server), "http.api.url": "http://127.0.0.1:1"}, [record(0, None, "x")])


def test_a_refused_record_becomes_a_dead_letter_and_the_others_are_sent_once(server: WebServer) -> None:
    calls: list[bytes] = []

    def answer(asked: Asked) -> Answer:
        calls.append(asked.body)
        if asked.body == b"c" and calls.count(b"c") == 1:
            return 503, b""
        return (422, b"no") if asked.body == b"b" else (200, b"")

    server.answer = answer
    config = sink(
        server, retry_on_status_codes="599", errors_tolerance="all", errors_deadletterqueue_topic_name="dead",
        errors_retry_timeout="10000",
    )  # fmt: skip
    rows = [Row("users", 0, None, each, (), 0, n) for n, each in enumerate((b"a", b"b", b"c", b"d"))]
    batch = SinkBatch(
        "snk", "HttpSinkConnector", "", ((0, config, {TopicPartition("users", 0): (0, 4)}),),
        Defaults(TEXT, TEXT, TEXT),
    )  # fmt: skip
    dead: list[Row] = []
    told = json.loads(batch.run(0, lambda _place, start, end: iter(rows[start:end]), dead.extend))
    assert told["error"] is None
    assert [each.value for each in dead] == [b"b"]
    assert calls == [b"a", b"b", b"c", b"c", b"d"]
    with pytest.raises(StatusError):
        run_sink(HttpSink, sink(server, retry_on_status_codes="599"), [record(0, None, "b")])


def test_a_token_is_had_once_and_again_when_it_has_run_out(server: WebServer) -> None:
    tokens = iter(["t1", "t2"])

    def answer(asked: Asked) -> Answer:
        if asked.path == "/token":
            assert base64.b64decode(asked.headers["authorization"].split()[1]) == b"id:canary"
            return 200, json.dumps({"access_token": next(tokens)}).encode()
        return (401 if asked.headers["authorization"] == "Bearer t1" and asked.body == b"2" else 200), b""

    server.answer = answer
    config = sink(server, auth_type="OAUTH2", oauth2_token_url=server.url + "/token",
                  oauth2_client_id="id", oauth2_client_secret="canary")  # fmt: skip
    run_sink(HttpSink, config, [record(number, None, str(number)) for number in range(4)])
    assert [each.path for each in server.asked].count("/token") == 2
    server.answer = lambda _: (403, b"{}")
    with pytest.raises(Exception, match="gave no token") as refused:
        run_sink(HttpSink, config, [record(0, None, "x")])
    assert "canary" not in str(refused.value)


def test_a_redirect_is_not_followed(server: WebServer) -> None:
    server.answer = lambda _: (302, b"", {"Location": "http://169.254.169.254/"})
    with pytest.raises(StatusError, match="302"):
        run_sink(HttpSink, sink(server), [record(0, None, "x")])


def test_every_mistake_is_reported(server: WebServer) -> None:
    bad = sink(server, auth_type="BASIC", regex_patterns="x", headers="nonsense", https_ssl_keystore="k")
    assert {name for name, _ in HttpSink.check(bad)} == {
        "connection.user", "connection.password", "regex.patterns", "headers", "https.ssl.keystore",
    }  # fmt: skip
    for url in ("ftp://x", "http://169.254.169.254", "http://${key}/", "http://a:b@localhost", "http://"):
        assert [name for name, _ in HttpSink.check({"http.api.url": url})] == ["http.api.url"]
    with pytest.raises(ConfigError, match="Codes"):
        HttpSink.CONFIG.parse(sink(server, retry_on_status_codes="4xx"))
    assert HttpSink.CONFIG.secret >= {"headers", "connection.password", "oauth2.client.secret"}
    chained = {"url": server.url, "topic.name.pattern": "t", "http.offset.mode": "CHAINING"}
    assert [name for name, _ in HttpSource.check(chained)] == ["http.offset.json.pointer"]


# -- the source


def source(server: WebServer, **more: str) -> dict[str, str]:
    config = {
        "url": server.url + "/list", "topic.name.pattern": "t", "max.retries": "1", "retry.backoff.ms": "1",
        "request.interval.ms": "50",
    }  # fmt: skip
    return config | {name.replace("_", "."): value for name, value in more.items()}


def query(asked: Asked, name: str) -> str:
    return parse_qs(urlsplit(asked.path).query).get(name, [""])[0]


def read_twice(config: dict[str, str], polls: int) -> list[Any]:
    """The values that two batches read, the second from where the first ended."""
    first = run_source(HttpSource, config, polls=polls)
    reached = SourceOffsets().advanced([(each.partition, each.offset) for each in first])
    rest = run_source(HttpSource, config, reached.items(), polls=9)
    return [each.record.value for each in (*first, *rest) if each.record is not None]


ITEMS = [{"id": number, "at": f"2024-01-0{number}"} for number in range(1, 8)]


def test_offsets_that_count(server: WebServer) -> None:
    def answer(asked: Asked) -> Answer:
        first = int(query(asked, "from"))
        return 200, json.dumps({"data": {"items": ITEMS[first : first + 3]}}).encode()

    server.answer = answer
    config = source(
        server, http_request_parameters="from=${offset}&none=", http_initial_offset="1",
        http_response_data_json_pointer="/data/items", http_key_json_pointer="/id",
    )  # fmt: skip
    assert read_twice(config, 1) == ITEMS[1:]
    assert "none" not in server.asked[0].path
    made = HttpSource(config)
    assert made.has_news(SourceOffsets())
    assert not made.has_news(SourceOffsets())
    made.committed(SourceOffsets())
    assert made.has_news(SourceOffsets())


def test_offsets_that_the_records_hold(server: WebServer) -> None:
    def answer(asked: Asked) -> Answer:
        after = json.loads(asked.body)["after"]
        return 200, json.dumps([each for each in ITEMS if str(each["at"]) > after][:2]).encode()

    server.answer = answer
    config = source(
        server, http_offset_mode="CHAINING", http_offset_json_pointer="/at", http_request_method="POST",
        http_request_body='{"after": "${offset}"}', http_initial_offset="2024-01-02",
    )  # fmt: skip
    assert read_twice(config, 2) == ITEMS[2:]


def test_pages_that_name_the_next_one_and_a_last_page_that_grows(server: WebServer) -> None:
    there = 4

    def answer(asked: Asked) -> Answer:
        page = int(query(asked, "page") or 0)
        found = ITEMS[page * 3 : min(page * 3 + 3, there)]
        following = str(page + 1) if there > page * 3 + 3 else None
        return 200, json.dumps({"items": found, "next": following}).encode()

    server.answer = answer
    config = source(
        server, http_offset_mode="CURSOR_PAGINATION", http_next_page_json_pointer="/next",
        http_response_data_json_pointer="/items", http_request_parameters="page=${offset}",
    )  # fmt: skip
    first = run_source(HttpSource, config, polls=5)
    reached = SourceOffsets().advanced([(each.partition, each.offset) for each in first])
    there = 7
    rest = run_source(HttpSource, config, reached.items(), polls=5)
    assert [each.record.value for each in (*first, *rest) if each.record is not None] == ITEMS


def test_answers_that_are_no_records(server: WebServer) -> None:
    server.answer = lambda _: (200, b"<html>")
    with pytest.raises(DataError, match="did not answer with JSON"):
        run_source(HttpSource, source(server))
    server.answer = lambda _: (200, b"")
    assert run_source(HttpSource, source(server)) == []
    server.answer = lambda _: (503, b"")
    with pytest.raises(RetriableError):
        run_source(HttpSource, source(server))
    server.answer = lambda _: (404, b"no such list")
    with pytest.raises(StatusError, match="no such list"):
        run_source(HttpSource, source(server))
