"""The header in front of each request and each response."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from penstock.protocol.apis import FIRST_FLEXIBLE, Api
from penstock.protocol.primitives import NO_TAGS, MalformedMessage, Reader

_FIXED: Final = struct.Struct(">hhih")  # key, version, correlation id, length of the client id
_NULL: Final = -1
_API_VERSIONS: Final = int(Api.API_VERSIONS)
_NEVER: Final = 2**15
# ApiVersions answers with the oldest header always, so that a client of any age can read the refusal.
_TAGS_FROM: Final = FIRST_FLEXIBLE | {Api.API_VERSIONS: _NEVER}
_RESPONSE: Final = struct.Struct(">i")
_RESPONSE_WITH_TAGS: Final = struct.Struct(">ic")


class RequestHeader(NamedTuple):
    """Who asks what, and under which number the answer is awaited."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None


def read_request_header(frame: memoryview) -> tuple[RequestHeader, Reader]:
    """The header, and a reader that stands at the first byte of the body in the right form.

    A client may ask in an API or a version that is unknown here: the body is not looked at then, and the
    header is read as far as every version has it.
    """
    if len(frame) < _FIXED.size:
        raise MalformedMessage(f"a request of {len(frame)} bytes")
    api_key, version, correlation_id, client_bytes = _FIXED.unpack_from(frame)
    reader = Reader(frame, _FIXED.size)
    client_id = None if client_bytes == _NULL else reader.text(client_bytes)
    header = RequestHeader(api_key, version, correlation_id, client_id)
    first_flexible = FIRST_FLEXIBLE.get(api_key)
    if first_flexible is None:
        return header, reader
    reader.flexible = version >= first_flexible
    # An ApiVersions of a later version than ours may carry a header that we cannot read; its body is not
    # needed to refuse it.
    if api_key != _API_VERSIONS or version <= 4:
        reader.tags()
    return header, reader


def response_header(api: Api, version: int, correlation_id: int) -> bytes:
    if version < _TAGS_FROM[api]:
        return _RESPONSE.pack(correlation_id)
    return _RESPONSE_WITH_TAGS.pack(correlation_id, NO_TAGS)
