"""Requests that mean harm: refused, or served in bounded time and memory; others are served meanwhile."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.registry.processes import RegistryProcess

RSS_MB_MAX = 150


def deep(opening: str, closing: str, levels: int) -> str:
    return opening * levels + '"int"' + closing * levels


BOMBS: dict[str, Any] = {
    "deep Avro": {"schema": deep('{"type":"array","items":', "}", 50_000)},
    "deep JSON Schema": {"schema": deep('{"not":', "}", 50_000), "schemaType": "JSON"},
    "deep Protobuf": {
        "schema": 'syntax = "proto3"; ' + "message M { " * 50_000 + "}" * 50_000,
        "schemaType": "PROTOBUF",
    },
    "a reference to itself": {"schema": '{"$ref": "#"}', "schemaType": "JSON"},
    "a long schema": {"schema": '"' + "x" * 2_000_000 + '"'},
    "a union of everything": {"schema": json.dumps([f"n{at}" for at in range(50_000)])},
    "an enum of everything": {"schema": "[" + "{" * 200_000},
    "long numbers": {"schema": '{"type":"fixed","name":"F","size":' + "9" * 100_000 + "}"},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_at_once(
    http: httpx.Client, registry: RegistryProcess, subject: str, name: str
) -> None:
    began = time.monotonic()
    answer = http.post(f"/subjects/{subject}/versions", json=BOMBS[name])
    assert answer.status_code in (413, 422), answer.text[:500]
    assert len(answer.content) < 10_000
    assert time.monotonic() - began < 20
    assert registry.rss_mb < RSS_MB_MAX


def test_a_body_of_fifty_megabytes_is_not_read(
    http: httpx.Client, registry: RegistryProcess, subject: str
) -> None:
    body = b'{"schema": "' + b"x" * 50_000_000 + b'"}'
    with suppress(httpx.TransportError):  # it may close the connection while the body is still being sent
        assert http.post(f"/subjects/{subject}/versions", content=body).status_code == 413
    assert registry.rss_mb < RSS_MB_MAX
    assert http.get("/subjects").status_code == 200


def test_a_pattern_that_backtracks_is_no_work_for_the_registry(http: httpx.Client, subject: str) -> None:
    name = "a" * 40
    pattern = {
        "type": "object",
        "patternProperties": {"^(a+)+$": {"type": "string"}},
        "additionalProperties": False,
    }
    for properties in ({}, {f"{name}!": False}):
        body = {"schema": json.dumps({**pattern, "properties": properties}), "schemaType": "JSON"}
        began = time.monotonic()
        assert http.post(f"/subjects/{subject}/versions", json=body).status_code in (200, 409)
        assert time.monotonic() - began < 20


def test_chains_of_references_end(http: httpx.Client, subject: str) -> None:
    previous = None
    for at in range(60):
        name = f"n.{subject.replace('-', '_')}_{at}"
        fields = [{"name": "p", "type": previous["name"]}] if previous else []
        body = {"schema": json.dumps({"type": "record", "name": name, "fields": fields})}
        if previous:
            body["references"] = [previous]  # type: ignore[assignment]
        answer = http.post(f"/subjects/{subject}-{at}/versions", json=body)
        assert answer.status_code == 200, answer.text
        previous = {"name": name, "subject": f"{subject}-{at}", "version": 1}


def test_ten_thousand_subjects_fit(
    registry: RegistryProcess, http: httpx.Client, subject: str, long_form: bool
) -> None:
    total = 10_000 if long_form else 500
    with httpx.Client(base_url=registry.url, timeout=30) as client, ThreadPoolExecutor(8) as pool:

        def register(at: int) -> int:
            body = {"schema": f'{{"type":"enum","name":"E{at}","symbols":["A"]}}'}
            return client.post(f"/subjects/{subject}-{at}/versions", json=body).status_code

        assert set(pool.map(register, range(total))) == {200}
    found = http.get("/subjects", params={"subjectPrefix": f"{subject}-"}).json()
    assert len(found) == total
    began = time.monotonic()
    assert http.get("/schemas", params={"limit": 10}).status_code == 200
    assert time.monotonic() - began < 20
    assert registry.rss_mb < RSS_MB_MAX
