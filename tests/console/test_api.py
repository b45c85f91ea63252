"""The JSON API over the fake cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from penstock.console.api import BODY_BYTES_MAX, api_app, api_routes
from penstock.console.fake_backend import FakeBackend
from penstock.console.services import Services
from penstock.groups import offset_records

Call = Callable[..., httpx.Response]


@pytest.fixture
def call(backend: FakeBackend) -> Call:
    """One request to the API."""

    def request(method: str, path: str, **options: Any) -> httpx.Response:
        async def body() -> httpx.Response:
            services = Services.over(backend)
            transport = httpx.ASGITransport(api_app(services))
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                answer = await client.request(method, path, **options)
            await services.close()
            return answer

        return asyncio.run(body())

    return request


def test_the_cluster_is_described(call: Call) -> None:
    answer = call("GET", "/api/cluster").json()
    assert answer["bootstrap_servers"] == "127.0.0.1:9092"
    assert answer["brokers"] == [{"node_id": 1, "host": "127.0.0.1", "port": 9092}]
    assert (answer["topics"], answer["partitions"]) == (3, 8)


def test_topics_can_be_searched_and_internal_ones_asked_for(call: Call) -> None:
    def names(query: str) -> list[str]:
        return [topic["name"] for topic in call("GET", f"/api/topics{query}").json()["topics"]]

    assert names("") == ["orders", "payments"]
    assert names("?search=ORD") == ["orders"]
    assert names("?internal=true") == ["__consumer_offsets", "orders", "payments"]


def test_a_topic_has_partitions_and_settings(call: Call) -> None:
    answer = call("GET", "/api/topics/payments").json()
    assert answer["partitions"][0]["high_watermark"] == 0
    assert {"name": "cleanup.policy", "value": "compact"}.items() <= answer["configs"][0].items()


def test_a_topic_is_created_and_deleted(call: Call, backend: FakeBackend) -> None:
    assert call("POST", "/api/topics", json={"name": "new", "partitions": 2}).status_code == 201
    assert len(call("GET", "/api/topics/new").json()["partitions"]) == 2
    assert call("DELETE", "/api/topics/new").status_code == 204
    assert call("GET", "/api/topics/new").status_code == 404


def test_messages_come_in_pages(call: Call) -> None:
    first = call("GET", "/api/topics/orders/messages?limit=4").json()
    assert first["messages"][0]["value"]["text"] == '{\n  "order": 5\n}'
    rest = call("GET", f"/api/topics/orders/messages?limit=4&cursor={first['next']}").json()
    assert len(first["messages"]) + len(rest["messages"]) == 6
    assert rest["next"] is None


def test_a_message_has_all_its_parts(call: Call, backend: FakeBackend) -> None:
    backend.append("payments", None, b"k", [("a", b"1"), ("b", None)])
    (message,) = call("GET", "/api/topics/payments/messages").json()["messages"]
    assert message["value"]["encoding"] == "null"
    assert message["key"]["text"] == "k"
    assert [(h["name"], h["value"]["text"]) for h in message["headers"]] == [("a", "1"), ("b", "")]
    assert message["timestamp"].endswith("Z")


def test_a_long_value_is_cut_where_asked(call: Call, backend: FakeBackend) -> None:
    backend.append("payments", b"x" * 5000)
    (message,) = call("GET", "/api/topics/payments/messages?max_bytes=10").json()["messages"]
    assert message["value"] == {
        "encoding": "text", "text": "x" * 10, "size_bytes": 5000, "truncated": True, "note": "",
    }  # fmt: skip


def test_a_record_is_produced(call: Call, backend: FakeBackend) -> None:
    body = {"key": "k", "value": "v", "headers": [{"name": "h", "value": "x"}], "partition": 1}
    answer = call("POST", "/api/topics/orders/messages", json=body)
    assert answer.status_code == 201
    assert (answer.json()["partition"], answer.json()["offset"]) == (1, 2)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/topics/none", None, 404, 40401),
        ("GET", "/api/topics/none/messages", None, 404, 40401),
        ("GET", "/api/topics/orders/messages?partition=9", None, 404, 40402),
        ("GET", "/api/topics/orders/messages?from=x", None, 400, 40001),
        ("GET", "/api/topics/orders/messages?max_bytes=0", None, 400, 40001),
        ("POST", "/api/topics", {"name": "orders"}, 409, 40901),
        ("POST", "/api/topics", {}, 422, 422),
        ("POST", "/api/topics", {"name": "../x"}, 400, 40001),
        ("POST", "/api/topics", {"name": 5}, 422, 422),
        ("POST", "/api/topics", {"name": "n", "partitions": True}, 422, 422),
        ("POST", "/api/topics", [], 422, 422),
        ("POST", "/api/topics/orders/messages", {"headers": ["x"]}, 422, 422),
        ("POST", "/api/topics/orders/messages", {"value": "\ud800"}, 400, 400),
        ("POST", "/api/topics/orders/messages", {"partition": 7}, 404, 40402),
        ("DELETE", "/api/topics/none", None, 404, 40401),
        ("GET", "/api/nothing", None, 404, 404),
    ],
)
def test_each_refusal_has_a_status_a_code_and_a_sentence(
    call: Call, method: str, path: str, body: object, status: int, code: int
) -> None:
    content = None if body is None else json.dumps(body).encode()
    answer = call(method, path, content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert answer.json()["message"]


def test_an_unreachable_broker_is_a_503_with_its_address(call: Call, backend: FakeBackend) -> None:
    backend.unreachable = True
    answer = call("GET", "/api/topics")
    assert answer.status_code == 503
    assert "127.0.0.1:9092" in answer.json()["message"]


def test_a_form_of_another_site_cannot_be_mistaken_for_json(call: Call) -> None:
    answer = call("POST", "/api/topics", content=b'{"name": "x"}', headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_a_body_without_end_is_refused(call: Call) -> None:
    async def endless() -> Any:
        for _ in range(BODY_BYTES_MAX // 65536 + 2):
            yield b" " * 65536

    answer = call("POST", "/api/topics", content=endless(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "larger than" in answer.json()["message"]


def test_a_hundred_readers_cost_the_broker_one_question(backend: FakeBackend) -> None:
    async def body() -> None:
        services = Services.over(backend)
        transport = httpx.ASGITransport(api_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            requests: list[Awaitable[httpx.Response]] = [client.get("/api/topics") for _ in range(100)]
            answers = await asyncio.gather(*requests)
        await services.close()
        assert {answer.status_code for answer in answers} == {200}

    asyncio.run(body())
    assert backend.asked["snapshot"] == 1


def test_the_document_describes_every_route(call: Call) -> None:
    document = call("GET", "/openapi.json").json()
    routes = api_routes(Services.over(FakeBackend()))
    assert set(document["paths"]) == {route.path for route in routes}
    page = document["components"]["schemas"]["PageShape"]
    assert set(page["properties"]) == {"messages", "newest_first", "complete", "next"}


def test_records_of_internal_topics_are_decoded(call: Call, backend: FakeBackend) -> None:
    key = offset_records.encode_key(offset_records.OffsetKey("billing", "orders", 2))
    committed = offset_records.CommittedOffset(7, -1, "by hand", 1_700_000_000_000)
    backend.append("__consumer_offsets", offset_records.encode_value(committed), key)
    backend.append("__consumer_offsets", b"\0\x63", b"\0\x63")
    strange, known = call("GET", "/api/topics/__consumer_offsets/messages").json()["messages"]
    assert json.loads(known["key"]["text"]) == {
        "kind": "offset", "group": "billing", "topic": "orders", "partition": 2
    }  # fmt: skip
    assert json.loads(known["value"]["text"])["offset"] == 7
    assert known["value"]["note"] == "internal record"
    assert strange["value"]["encoding"] == "hex"


def test_entries_and_users_are_managed(call: Call, backend: FakeBackend) -> None:
    entry = {"resource_type": "topic", "resource_name": "t", "principal": "User:a", "operation": "read"}
    assert call("POST", "/api/acls", json=entry).status_code == 204
    (found,) = call("GET", "/api/acls").json()
    assert (found["operation"], found["permission"], found["host"]) == ("READ", "ALLOW", "*")
    assert call("DELETE", "/api/acls", json=found).status_code == 204
    assert backend.entries == []
    assert call("PUT", "/api/users/ada", json={"password": "p"}).status_code == 204
    assert [each["name"] for each in call("GET", "/api/users").json()] == ["ada"]
    assert call("DELETE", "/api/users/ada").status_code == 204
    assert call("GET", "/api/topics/orders/producers").json()[0]["transactional_id"] == "checkout-1"


def test_a_record_is_followed(call: Call) -> None:
    told = call("GET", "/api/topics/orders/records/1/0").json()
    assert told["unknown"]
    assert call("GET", "/api/topics/orders/records/1/99").status_code == 400
