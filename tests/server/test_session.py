"""A session counts every request, and times all that come seldom and some of those that come often."""

from __future__ import annotations

from penstock.metrics.requests import ALL_TIMED_BEFORE, TIMED_EVERY
from penstock.protocol.apis import Api
from penstock.protocol.messages import encode_request
from tests.handlers.one_node import OneNode, request_frame


def test_every_request_is_counted_and_of_many_some_are_timed_and_stand_for_all() -> None:
    node = OneNode()
    fields = {"client_software_name": "test", "client_software_version": "1"}
    frame = request_frame(Api.API_VERSIONS, 3, encode_request(Api.API_VERSIONS, 3, fields), "test")
    many = ALL_TIMED_BEFORE + 10 * TIMED_EVERY
    timed = [node.session.handle(memoryview(bytearray(frame))).weight for _ in range(many)]
    requests = node.broker.metrics.requests[Api.API_VERSIONS]
    assert requests.count == many
    assert requests.bytes_in == many * len(frame)
    assert timed[: ALL_TIMED_BEFORE - 1] == [1] * (ALL_TIMED_BEFORE - 1)
    assert sorted(set(timed[ALL_TIMED_BEFORE:])) == [0, TIMED_EVERY]
    assert abs(requests.served.count - many) < TIMED_EVERY
