"""Kinds of setting values: text from a properties file or a Python value becomes what is meant, or an error
that names the setting, the value and what is expected."""

from __future__ import annotations

from typing import Any

from penstock.client.api.exceptions import ConfigException


def whole(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool) or int(value) != float(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError):
        raise _wrong(name, value, "a whole number") from None


def boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower() == "true"
    raise _wrong(name, value, "true or false")


def text(name: str, value: Any) -> str:
    if value is None:
        raise _wrong(name, value, "a text")
    return str(value)


def texts(name: str, value: Any) -> list[str]:
    """A list, or text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [str(part) for part in value]
    raise _wrong(name, value, "a list, or text with commas")


def addresses(name: str, value: Any) -> str:
    found = texts(name, value)
    if not found:
        raise _wrong(name, value, "at least one HOST:PORT")
    return ",".join(found)


def acks(name: str, value: Any) -> str:
    if str(value) not in ("all", "-1", "0", "1"):
        raise _wrong(name, value, "all, -1, 0 or 1")
    return str(value)


def isolation(name: str, value: Any) -> str:
    if value not in ("read_uncommitted", "read_committed"):
        raise _wrong(name, value, "read_uncommitted or read_committed")
    return str(value)


def offset_reset(name: str, value: Any) -> str:
    """Java's `none` is librdkafka's `error`."""
    known = {"earliest": "earliest", "latest": "latest", "none": "error"}
    if value not in known:
        raise _wrong(name, value, "earliest, latest or none")
    return known[value]


ASSIGNORS = {
    "range": "range",
    "roundrobin": "roundrobin",
    "cooperative-sticky": "cooperative-sticky",
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}


def assignors(name: str, value: Any) -> str:
    """Java's default, range and cooperative-sticky together, prepares an upgrade; librdkafka refuses to
    mix them, and the first one decides in Java as well."""
    found = []
    for each in texts(name, value):
        if each not in ASSIGNORS:
            known = "RangeAssignor, RoundRobinAssignor or CooperativeStickyAssignor; librdkafka has no other"
            raise _wrong(name, each, known)
        found.append(ASSIGNORS[each])
    first_cooperates = found[:1] == ["cooperative-sticky"]
    return ",".join(each for each in found if (each == "cooperative-sticky") == first_cooperates)


def identification(name: str, value: Any) -> str:
    return "https" if str(value or "").lower() == "https" else "none"


def _wrong(name: str, value: Any, expected: str) -> ConfigException:
    return ConfigException(f"{name}={value!r} is not {expected}.")
