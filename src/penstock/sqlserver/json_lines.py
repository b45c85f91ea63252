"""JSON values one after another in a body that is still arriving: a line each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.json_reading import parse


async def json_values(chunks: AsyncIterator[bytes], most_bytes: int) -> AsyncIterator[Any]:
    """The values of the lines that are not empty. ValueError for a line that is no JSON or too long."""
    held = b""
    async for chunk in chunks:
        held += chunk
        *lines, held = held.split(b"\n")
        for line in lines:
            if line.strip():
                yield _value(line)
        if len(held) > most_bytes:
            raise ValueError(f"a line has more than {most_bytes} bytes")
    if held.strip():
        yield _value(held)


def _value(line: bytes) -> Any:
    try:
        return parse(line.strip())
    except FormatError as error:
        raise ValueError(str(error)) from error
