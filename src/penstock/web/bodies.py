"""Bodies of requests: read within a bound and a deadline, bounded in depth, decoded to the route's type."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect, Request

from penstock.schemas.json_text import DEPTH_MAX, TooDeep, check_depth
from penstock.web.errors import HttpError
from penstock.web.negotiation import header

READ_WITHIN_S: Final = 60.0
"""How long the body of one request may take to arrive."""


async def read_body(request: Request, size_max: int) -> bytes:
    """The whole body, or 413 as soon as it is known to be too large, or 408 when it does not come."""
    announced = header(request, b"content-length")
    if announced.isdecimal() and int(announced) > size_max:
        raise _too_large(size_max)
    chunks: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                chunk, more = message.get("body", b""), message.get("more_body", False)
                size += len(chunk)
                if size > size_max:
                    raise _too_large(size_max)
                chunks.append(chunk)
    except (TimeoutError, ClientDisconnect) as error:
        raise HttpError(408, f"The body did not arrive within {READ_WITHIN_S:g} s.") from error
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def decode_body(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The body as the route's type; 400 when it is no JSON, 422 when it is not of that form."""
    try:
        check_depth(data, DEPTH_MAX)
        return decoder.decode(data)
    except (TooDeep, RecursionError) as error:
        raise HttpError(422, f"The body is nested more than {DEPTH_MAX} levels deep.") from error
    except msgspec.ValidationError as error:
        raise HttpError(422, f"The body has another form than this path takes: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HttpError(400, f"The body is not JSON: {error}") from error


def _too_large(size_max: int) -> HttpError:
    return HttpError(413, f"The body is larger than {size_max} bytes, which is the most that is read.")
