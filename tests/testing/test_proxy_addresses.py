"""Answers that name a new leader (KIP-951) name it under the proxy's address; others are left as they are."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.protocol import messages
from penstock.protocol.apis import Api
from penstock.testing.proxy_addresses import with_addresses
from penstock.testing.proxy_frames import Frame, Way

ENDPOINT = {"node_id": 2, "host": "broker", "port": 9092, "rack": None}


def response(api: Api, version: int, fields: dict[str, Any]) -> Frame:
    body = messages.encode_response(api, version, {"throttle_time": 0, **fields})
    return Frame(Way.TO_CLIENT, 1, api, version, 7, b"\x00\x00\x00\x07\x00" + body)


def proxied(frame: Frame) -> Frame:
    return with_addresses(frame, lambda address: (f"proxy-of-{address[0]}", address[1] + 1))


@pytest.mark.parametrize(("api", "version"), [(Api.PRODUCE, 10), (Api.PRODUCE, 12), (Api.FETCH, 16)])
def test_a_new_leader_is_named_by_the_proxy(api: Api, version: int) -> None:
    fields = {"responses": [], "error_code": 0, "session_id": 5, "node_endpoints": [ENDPOINT]}
    (node,) = proxied(response(api, version, fields)).message().node_endpoints
    assert (node.node_id, node.host, node.port) == (2, "proxy-of-broker", 9093)


@pytest.mark.parametrize(("api", "version"), [(Api.PRODUCE, 9), (Api.PRODUCE, 12), (Api.FETCH, 12)])
def test_an_answer_without_addresses_passes_byte_for_byte(api: Api, version: int) -> None:
    frame = response(api, version, {"responses": [], "error_code": 0, "session_id": 5})
    assert proxied(frame) is frame
