"""JSON whose numbers keep their digits: `1.10` stays `1.10`, as decimals need it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def read_json(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal)


def write_json(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(str(key))}:{write_json(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value)
