"""Bodies of requests, read as Kafka Connect reads them.

A body that cannot be read is answered with 500, as Kafka does, and with a sentence of ours: Kafka shows there
what its JSON library and its virtual machine say.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from penstock.connect.worker import refusals
from penstock.schemas.json_text import DEPTH_MAX, TooDeep, check_depth
from penstock.web import Call
from penstock.web.application import BODY_BYTES_MAX
from penstock.web.bodies import read_body


async def read_object(call: Call) -> dict[str, Any] | None:
    """The JSON object of the body; None for an empty body and for null."""
    data = await read_body(call.request, BODY_BYTES_MAX)
    if not data.strip():
        return None
    try:
        check_depth(data, DEPTH_MAX)
        found = json.loads(data)
    except (ValueError, RecursionError, TooDeep) as error:
        raise refusals.failed(f"The body is not JSON: {error}") from None
    if found is not None and not isinstance(found, dict):
        raise refusals.failed("The body is no JSON object")
    return found


def needed(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        raise refusals.failed("The request has no body: it takes a JSON object")
    return found


def only(found: Mapping[str, Any], known: Collection[str]) -> None:
    for name in found:
        if name not in known:
            raise refusals.failed(f'Unrecognized field "{name}": known are {", ".join(known)}')


def texts(config: Any) -> dict[str, str]:
    """Settings as text; null is no setting."""
    return {name: value for name, value in nullable_texts(config).items() if value is not None}


def nullable_texts(config: Any) -> dict[str, str | None]:
    if not isinstance(config, dict):
        raise refusals.failed("Settings are a JSON object")
    return {name: _text(name, value) for name, value in config.items()}


def _text(name: str, value: Any) -> str | None:
    if isinstance(value, (dict, list)):
        raise refusals.failed(f"The setting {name} is an object or a list: settings are texts")
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
