"""Words in an address that a record or an offset fills in. A value can never change the host or add a part to
the path: it is quoted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import DataError

_WORD: Final = re.compile(r"\$\{([^{}]*)\}")


def url_mistakes(name: str, url: str) -> list[tuple[str, str]]:
    if not url:
        return []
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [(name, "It begins with http:// or https:// and a host")]
    if "${" in parts.netloc:
        return [(name, "A record may not choose the host")]
    if parts.username or parts.password:
        return [(name, "Give credentials in connection.user and connection.password")]
    try:
        allowed_address(url)
    except Forbidden as error:
        return [(name, str(error))]
    return []


def filled(text: str, words: Mapping[str, str]) -> str:
    """With each word quoted for an address."""
    return _WORD.sub(lambda found: quote(words.get(found[1], found[0]), safe=""), text)


def record_url(url: str, record: ConnectRecord) -> str:
    """`${topic}`, `${key}`, and fields of the key or the value by their path. DataError for what is not
    there."""

    def value(found: re.Match[str]) -> str:
        text = quote(java_text(_word(found[1], record)), safe="")
        return text.replace(".", "%2E") if text in (".", "..") else text

    return _WORD.sub(value, url)


def _word(word: str, record: ConnectRecord) -> Any:
    if word == "topic":
        return record.topic
    if word == "key" and not isinstance(record.key, (Struct, dict)):
        if record.key is None:
            raise DataError("the record has no key, which the address needs")
        return record.key
    for side in (record.key, record.value):
        found = _field(side, word.split("."))
        if found is not None:
            return found
    raise DataError(f"the record has no field {word}, which the address needs")


def _field(value: Any, path: list[str]) -> Any:
    for part in path:
        if (isinstance(value, Struct) and value.schema.field(part) is not None) or isinstance(value, dict):
            value = value.get(part)
        else:
            return None
    return value


def pointed(node: Any, pointer: str) -> Any:
    """What a JSON pointer names (RFC 6901); None if there is nothing."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, dict):
            node = node.get(part)
        else:
            return None
    return node
