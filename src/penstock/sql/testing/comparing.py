"""Whether a record is the one that was expected, and what differs if it is not."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.sql.testing.cases import CaseRecord, CaseWindow
from penstock.sql.testing.json_text import write_json


def same(actual: Any, expected: Any) -> bool:
    """Numbers by value; a field that is not there is null."""
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return actual is expected
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(same(actual.get(name), expected.get(name)) for name in {**expected, **actual})
    if isinstance(expected, list) and isinstance(actual, list):
        return len(actual) == len(expected) and all(map(same, actual, expected))
    if isinstance(expected, str) and isinstance(actual, str):
        return actual == expected
    if isinstance(expected, dict | list) or isinstance(actual, dict | list):
        return False
    one, other = _number(actual), _number(expected)
    if one is None or other is None:
        return False
    return one == other or (not isinstance(actual, int) and float(one) == float(other))


def _number(value: Any) -> Decimal | None:
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def differences(
    expected: CaseRecord, key: Any, window: CaseWindow | None, value: Any, timestamp: int, headers: Any
) -> list[str]:
    found = []
    if not same(key, expected.key):
        found.append(f"key {_shown(key)}, expected {_shown(expected.key)}")
    if not same(value, expected.value):
        found.append(f"value {_shown(value)}, expected {_shown(expected.value)}")
    if expected.timestamp is not None and timestamp != expected.timestamp:
        found.append(f"timestamp {timestamp}, expected {expected.timestamp}")
    if expected.window is not None and window is None:
        found.append(f"no window, expected {expected.window.start} to {expected.window.end}")
    if expected.window is None and window is not None:
        found.append(f"a window from {window.start} to {window.end}, expected none")
    if expected.window is not None and window is not None and expected.window != window:
        found.append(
            f"window from {window.start} to {window.end}, "
            f"expected {expected.window.start} to {expected.window.end}"
        )
    if expected.headers is not None and tuple(headers) != expected.headers:
        found.append(f"headers {headers}, expected {expected.headers}")
    return found


def _shown(value: Any) -> str:
    return write_json(value)
