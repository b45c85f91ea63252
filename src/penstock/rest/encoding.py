"""Keys and values between JSON and Kafka's bytes, for the formats that need no schema. Pure.

Numbers keep their digits: a JSON value is checked and stripped of whitespace, never taken apart.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec

from penstock.rest.errors import CONVERSION_FAILED, RestError, bad_request
from penstock.rest.formats import Format

NULL: Final = b"null"
ABSENT: Final = msgspec.Raw(NULL)
_raw = msgspec.json.Decoder(msgspec.Raw)
_text = msgspec.json.Decoder(str)


def absent() -> msgspec.Raw:
    """What a key or a value is that a body leaves out."""
    return ABSENT


def encode(form: Format, data: msgspec.Raw) -> bytes | None:
    """What goes to the broker; JSON's null is no value at all."""
    text = bytes(data)
    if text == NULL:
        return None
    if form is Format.JSON:
        return compact(text)
    try:
        given = _text.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        kind = "a base64 string" if form is Format.BINARY else "a string"
        raise bad_request(f"Bad Request: data={_shown(text)} is not {kind}.") from None
    return _from_base64(given) if form is Format.BINARY else given.encode("utf-8", "surrogatepass")


def decode(form: Format, data: bytes | None) -> msgspec.Raw | str | None:
    """What goes to the client; JSON inside JSON, or base64."""
    if data is None:
        return None
    if form is Format.BINARY:
        return base64.b64encode(data).decode()
    return as_json(data)


def compact(text: bytes) -> bytes:
    """The same JSON without whitespace."""
    try:
        text.decode()  # msgspec goes over strings without a look at their bytes
        return msgspec.json.format(text, indent=-1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"Bad Request: {_shown(text)} is not JSON: {error}.") from None


def as_json(data: bytes) -> msgspec.Raw:
    """A record's bytes as JSON to be put into an answer; ValueError when they are none."""
    data.decode()
    return _raw.decode(data)


def from_base64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad_request(f"Bad Request: {what}={text!r:.80} is not a valid base64 string.") from None


def undecodable(topic: str, partition: int, offset: int, form: Format, why: str) -> RestError:
    return RestError(
        CONVERSION_FAILED,
        f"The record at offset {offset} of partition {partition} of topic {topic!r} is no {form.value}: "
        f"{why}. To read on behind it, seek to the next offset with POST …/positions.",
    )


def _from_base64(text: str) -> bytes:
    return from_base64(text, "data")


def _shown(text: bytes) -> str:
    return text[:80].decode(errors="replace")
