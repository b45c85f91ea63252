"""kio as the judge of our hand-written messages: what it writes we must read, what we write it must read."""

from __future__ import annotations

import io
from typing import Any

from kio.serial import entity_writer

from penstock.protocol import messages
from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.primitives import Reader


def reader_of(api: Api, version: int, fields: dict[str, Any]) -> Reader:
    """A reader over kio's encoding of a request, standing at its first byte."""
    data = messages.encode_request(api, version, fields)
    return Reader(memoryview(data), flexible=is_flexible(api, version))


def response(api: Api, version: int, data: bytes) -> Any:
    """kio's reading of a response, which must leave no byte over."""
    parsed = messages.read_response(api, version, data)
    out = io.BytesIO()
    entity_writer(type(parsed))(out, parsed)
    assert out.getvalue() == data, "kio would have written other bytes for the same message"
    return parsed
