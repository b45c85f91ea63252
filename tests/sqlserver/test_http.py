"""The HTTP interface: media types, HTTP/2 without asking, streams in both directions, health."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.sqlserver.servers import EARLIEST, Server
from tests.sqlserver.test_statements import create


def test_info_and_health_are_those_of_ksqldb(server: Server) -> None:
    info = server.client.get("/info").json()["KsqlServerInfo"]
    assert (info["ksqlServiceId"], info["serverStatus"]) == ("default_", "RUNNING")
    assert len(info["kafkaClusterId"]) == 22
    health = server.client.get("/healthcheck").json()
    assert health["isHealthy"] is True
    assert set(health["details"]) == {"metastore", "kafka", "commandRunner"}
    assert list(server.client.get("/clusterStatus").json()["clusterStatus"]) == [server.address]
    assert server.client.get("/is_valid_property/auto.offset.reset").json() is True
    assert server.client.get("/is_valid_property/ssl.key").status_code == 400


def test_unknown_paths_and_bodies_are_errors_of_ksqldbs_form(server: Server) -> None:
    for answer, code in (
        (server.client.get("/nowhere"), 40400),
        (server.client.get("/ksql"), 40500),
        (server.client.post("/ksql", content=b"{"), 40000),
        (server.client.post("/ksql", json={"x": 1}), 42200),
    ):
        assert answer.json()["@type"] == "generic_error"
        assert answer.json()["error_code"] == code, answer.text


def test_a_request_waits_for_the_command_that_it_names(server: Server, name: str) -> None:
    create(server, name)
    (made,) = server.ksql(f"CREATE TYPE {name}T AS INT;")
    for number, status in ((made["commandSequenceNumber"], 200), (1_000_000, 503)):
        body = {"ksql": "SHOW TYPES;", "commandSequenceNumber": number}
        answer = server.client.post("/ksql", json=body)
        assert answer.status_code == status
    assert answer.json()["error_code"] == 50301
    assert answer.json()["message"].endswith("Command sequence number: 1000000")


def test_a_statement_that_waits_holds_up_no_other(server: Server, name: str) -> None:
    waiting = {"ksql": f"ASSERT TOPIC {name} TIMEOUT 60 SECONDS;"}
    with ThreadPoolExecutor(10) as pool:
        asked = [pool.submit(server.client.post, "/ksql", json=waiting) for _ in range(10)]
        create(server, name)  # and its topic, for which the others wait
        assert server.rows(f"SELECT * FROM {name};") == []
        assert {each.result(60).status_code for each in asked} == {200}


@pytest.mark.parametrize("media_type", ["application/vnd.ksql.v1+json", "application/json"])
def test_the_answer_has_the_type_that_was_asked_for(server: Server, media_type: str) -> None:
    given = {"Accept": media_type, "Content-Type": f"{media_type}; charset=utf-8"}
    answer = server.client.post("/ksql", content=b'{"ksql": "SHOW QUERIES;"}', headers=given)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type


def test_http_2_is_spoken_without_asking(server: Server, name: str) -> None:
    create(server, name)
    with httpx.Client(base_url=server.url, http1=False, http2=True) as client:
        answer = client.post(
            "/inserts-stream",
            content=(
                f'{{"target":"{name.lower()}"}}\n{{"ID":3,"WHO":"cy","AMOUNT":5}}\n'
                '{"ID":4,"NOPE":1}\n{"id":"5"}\n'
            ),
        )
        assert answer.http_version == "HTTP/2"
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert [line["status"] for line in lines] == ["ok", "error", "ok"]
        assert (lines[1]["seq"], lines[1]["error_code"]) == (1, 40000)
        rows = client.post("/query-stream", json={"sql": f"SELECT id FROM {name};"}).text.splitlines()[1:]
        assert [json.loads(row) for row in rows] == [[3], [5]]


def test_the_traffic_of_confluents_java_client_works_on_one_connection(server: Server, name: str) -> None:
    """Its artefacts are not in Maven Central. What it sends, by ksqlDB's documentation of the client: HTTP/2
    with prior knowledge, a push query, rows while the query lasts, and the end of the query."""
    create(server, name)
    limits = httpx.Limits(max_connections=1)
    with httpx.Client(base_url=server.url, http1=False, http2=True, limits=limits, timeout=30) as client:
        query = {"sql": f"SELECT id, who FROM {name} EMIT CHANGES;", "properties": EARLIEST}
        accepted = {"accept": "application/vnd.ksqlapi.delimited.v1"}
        with client.stream("POST", "/query-stream", json=query, headers=accepted) as answer:
            lines = (line for line in answer.iter_lines() if line)
            header = json.loads(next(lines))
            rows = f'{{"target":"{name}"}}\n{{"ID":1,"WHO":"ann"}}\n{{"ID":2,"WHO":"bob"}}\n'
            told = client.post("/inserts-stream", content=rows, headers=accepted)
            assert [json.loads(line)["seq"] for line in told.text.splitlines()] == [0, 1]
            assert [json.loads(next(lines)), json.loads(next(lines))] == [[1, "ann"], [2, "bob"]]
            assert client.post("/close-query", json={"queryId": header["queryId"]}).status_code == 200
            assert list(lines) == []
        assert answer.http_version == told.http_version == "HTTP/2"
        listed = client.post("/ksql", json={"ksql": "LIST STREAMS;", "streamsProperties": {}})
        assert name in {each["name"] for each in listed.json()[0]["streams"]}
        assert client.get("/info").json()["KsqlServerInfo"]["version"]


def test_a_status_line_has_its_words_and_a_target_may_be_a_whole_url(server: Server, name: str) -> None:
    """As the `ksql` package of PyPI needs and writes them; it cannot be imported by today's Python."""
    create(server, name)
    body = f'{{"target":"{name}"}}\n{{"ID":1}}'.encode()
    host, port = server.address.split(":")
    for path, status in (("/inserts-stream", b"200 OK"), ("/nowhere", b"404 Not Found")):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            head = f"POST {server.url}{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n"), answer


def test_rows_are_answered_while_more_are_sent(server: Server, name: str) -> None:
    create(server, name)
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = "POST /inserts-stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode() + _chunk(f'{{"target":"{name}"}}\n{{"ID":1}}\n'))
        answer = connection.makefile("rb")
        assert b'{"status":"ok","seq":0}\n' in _lines_until(answer, b'"seq":0')
        connection.sendall(_chunk('{"ID":2}\n') + b"0\r\n\r\n")
        assert b'{"status":"ok","seq":1}\n' in _lines_until(answer, b'"seq":1')


def _chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


def _lines_until(answer: Any, wanted: bytes) -> list[bytes]:
    lines = [answer.readline()]
    while wanted not in lines[-1]:
        assert lines[-1], lines
        lines.append(answer.readline())
    return lines


def test_a_push_query_sends_its_first_row_soon_and_ends_when_it_is_closed(server: Server, name: str) -> None:
    create(server, name)
    server.ksql(f"INSERT INTO {name} VALUES (1, 'ann', 10);")
    body = {"sql": f"SELECT * FROM {name} EMIT CHANGES;", "properties": EARLIEST}
    began = time.monotonic()
    with server.client.stream("POST", "/query-stream", json=body) as answer:
        lines = answer.iter_lines()
        query_id = json.loads(next(lines))["queryId"]
        assert json.loads(next(lines)) == [1, "ann", 10]
        assert time.monotonic() - began < 5  # 300 ms on a machine that does nothing else
        assert server.client.post("/close-query", json={"queryId": query_id}).status_code == 200
        assert [line for line in lines if line.strip()] == []
    gone = server.client.post("/close-query", json={"queryId": query_id})
    assert gone.json()["message"] == f"No query with id {query_id}"


def test_a_query_whose_client_is_gone_makes_room(server: Server, name: str) -> None:
    create(server, name)
    body = {"sql": f"SELECT * FROM {name} EMIT CHANGES;"}
    for _ in range(120):  # more than ksql.max.push.queries at a time would be refused
        with server.client.stream("POST", "/query-stream", json=body) as answer:
            assert answer.status_code == 200
            next(answer.iter_lines())


def test_the_document_describes_every_path(server: Server) -> None:
    paths = server.client.get("/openapi.json").json()["paths"]
    assert {"/ksql", "/query", "/query-stream", "/inserts-stream", "/close-query", "/info"} <= paths.keys()
