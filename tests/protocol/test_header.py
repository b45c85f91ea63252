"""Headers of requests and responses."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from penstock.protocol.header import read_request_header, response_header
from penstock.protocol.primitives import MalformedMessage


def frame(api_key: int, version: int, client: bytes = b"\x00\x01c", rest: bytes = b"") -> memoryview:
    return memoryview(
        api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\x00\x00\x00\x07" + client + rest
    )


def test_a_flexible_request_has_tagged_fields_after_the_client_id() -> None:
    header, reader = read_request_header(frame(Api.METADATA, 9, rest=b"\x00body"))
    assert (header.api_key, header.version, header.correlation_id, header.client_id) == (3, 9, 7, "c")
    assert reader.flexible
    assert reader.remaining == 4


def test_a_fixed_request_begins_right_after_the_client_id() -> None:
    _, reader = read_request_header(frame(Api.METADATA, 8, rest=b"body"))
    assert not reader.flexible
    assert reader.remaining == 4


def test_the_client_id_may_be_null() -> None:
    assert read_request_header(frame(Api.FETCH, 4, client=b"\xff\xff"))[0].client_id is None


def test_a_request_of_an_unknown_api_is_read_far_enough_to_name_it() -> None:
    assert read_request_header(frame(999, 0))[0].api_key == 999


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x03\x00\x09\x00\x00\x00\x01\x7f\xff"])
def test_a_header_that_is_cut_off_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_request_header(memoryview(data))


def test_api_versions_is_always_answered_with_the_oldest_header() -> None:
    assert response_header(Api.API_VERSIONS, 4, 7) == b"\x00\x00\x00\x07"
    assert response_header(Api.METADATA, 9, 7) == b"\x00\x00\x00\x07\x00"
    assert response_header(Api.METADATA, 8, 7) == b"\x00\x00\x00\x07"
