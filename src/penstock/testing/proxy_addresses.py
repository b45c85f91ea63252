"""Answers that name brokers, changed so that a client stays on the proxy.

Metadata, FindCoordinator and DescribeCluster always name brokers; Produce and Fetch do when a leader has
moved (KIP-951). Every other frame passes byte for byte.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from penstock.protocol import messages
from penstock.protocol.apis import NEVER, Api
from penstock.testing.proxy_frames import Frame

Address = tuple[str, int]
AddressOf = Callable[[Address], Address]

_ALWAYS: Final[frozenset[int]] = frozenset({Api.METADATA, Api.FIND_COORDINATOR, Api.DESCRIBE_CLUSTER})
_NAMES_LEADERS_FROM: Final[dict[int, int]] = {Api.PRODUCE: 10, Api.FETCH: 16}


def with_addresses(frame: Frame, address_of: AddressOf) -> Frame:
    """The response with every broker's address replaced."""
    if frame.api in _ALWAYS:
        message = frame.message()
    elif frame.version >= _NAMES_LEADERS_FROM.get(frame.api, NEVER):
        message = frame.message()
        if not message.node_endpoints:
            return frame
    else:
        return frame
    return with_fields(frame, _fields(message, address_of))


def fields_of(frame: Frame) -> dict[str, Any]:
    """The response as the mappings that `with_fields` takes."""
    fields: dict[str, Any] = _fields(frame.message(), lambda address: address)
    return fields


def with_fields(frame: Frame, fields: dict[str, Any]) -> Frame:
    """The response with another body."""
    body = messages.encode_response(Api(frame.api), frame.version, fields)
    return dataclasses.replace(frame, payload=frame.payload[: frame.body_position] + body)


def _fields(value: Any, address_of: AddressOf) -> Any:
    """kio's message as the mappings that `encode_response` takes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _fields(getattr(value, field.name), address_of) for field in dataclasses.fields(value)
        }
        if fields.get("host") and fields.get("port", -1) >= 0:  # an error names nobody
            fields["host"], fields["port"] = address_of((fields["host"], fields["port"]))
        return fields
    if isinstance(value, tuple):
        return [_fields(item, address_of) for item in value]
    if isinstance(value, uuid.UUID):
        return messages.id_bytes(value)
    if isinstance(value, timedelta):
        return messages.milliseconds(value)
    return value
