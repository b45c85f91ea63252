"""What gives a schema its identity: the same content has the same id in a context, under whatever subject.

Pure. Two texts of a Protobuf schema that differ in white space alone are the same content, because releases
of Confluent's registry lay them out differently.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from functools import lru_cache
from typing import Any, Final

import msgspec

from penstock.registry.contracts import VERSION, with_property
from penstock.registry.records import ReferenceValue, SchemaValue
from penstock.schemas.schema import AVRO, PROTOBUF

_TOKEN: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([\w.]+)|(\S)""")
_KEPT: Final = 100_000


class Content(msgspec.Struct, frozen=True, gc=False):
    schema_type: str
    schema: str
    references: tuple[ReferenceValue, ...] = ()
    metadata: bytes = b""
    rule_set: bytes = b""

    @property
    def digest(self) -> bytes:
        return _digest(self)

    @property
    def guid(self) -> str:
        """As Confluent's: the MD5 of the text, with references, metadata and rules where there are any."""
        found = hashlib.md5(self.schema.encode(), usedforsecurity=False)
        for each in self.references:
            found.update(each.name.encode() + each.subject.encode() + each.version.to_bytes(4, "big"))
        found.update(self.metadata + self.rule_set)
        return str(uuid.UUID(bytes=found.digest()))

    @property
    def unversioned(self) -> Content:
        """Without the property that names the version: it follows from where the schema is kept."""
        if VERSION.encode() not in self.metadata:
            return self
        metadata = with_property(decode_object(self.metadata), VERSION, None)
        return msgspec.structs.replace(self, metadata=encode_object(metadata))

    @property
    def bare(self) -> Content:
        """Without metadata and rules."""
        return msgspec.structs.replace(self, metadata=b"", rule_set=b"")


def content_of(value: SchemaValue) -> Content:
    return Content(
        value.schema_type or AVRO,
        value.schema,
        value.references,
        encode_object(value.metadata),
        encode_object(value.rule_set),
    )


def guid_of(value: SchemaValue) -> str:
    """The GUID that the record names, or the one that its content gives it."""
    return value.guid or content_of(value).guid


def encode_object(value: dict[str, Any] | None) -> bytes:
    """Metadata or rules as bytes that equal ones share. Parts that are null or empty say nothing, as in
    Confluent's: clients send back what they were told with such parts filled in."""
    told = _told(value or {})
    return msgspec.json.encode(told, order="sorted") if told else b""


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        parts = ((name, _told(each)) for name, each in value.items())
        return {
            name: each
            for name, each in parts
            if each is not None and each not in ([], {}) and (name, each) != ("disabled", False)
        }
    return [_told(each) for each in value] if isinstance(value, list) else value


def decode_object(encoded: bytes) -> dict[str, Any] | None:
    return msgspec.json.decode(encoded) if encoded else None


@lru_cache(maxsize=_KEPT)
def _digest(content: Content) -> bytes:
    text = content.schema
    if content.schema_type == PROTOBUF:
        text = " ".join(match.group() for match in _TOKEN.finditer(text))
    told = (content.schema_type, text, content.references, content.metadata, content.rule_set)
    return hashlib.md5(msgspec.json.encode(told), usedforsecurity=False).digest()
