"""Cases as data: statements, records in, records out, or the error that is expected.

A file is `{"tests": [...]}` in the layout of ksqlDB's own query tests. A case with `format` is run once for
each format, which stands for `{FORMAT}` in its statements.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock.sql.testing.json_text import read_json

DEFAULT_PARTITIONS: Final = 4
"""Of a topic that a case does not describe."""


class BadCase(ValueError):
    """A file that holds no cases, or a case with a part that is missing."""


@dataclass(frozen=True)
class CaseWindow:
    start: int
    end: int
    is_session: bool


@dataclass(frozen=True)
class CaseRecord:
    topic: str
    key: Any
    value: Any
    timestamp: int | None
    """None: 0 for what goes in, any for what comes out."""
    window: CaseWindow | None
    headers: tuple[tuple[str, bytes | None], ...] | None


@dataclass(frozen=True)
class CaseTopic:
    """A topic with what a registry knows about it."""

    name: str
    partitions: int = DEFAULT_PARTITIONS
    key_schema: Any = None
    value_schema: Any = None
    key_format: str | None = None
    value_format: str | None = None
    key_schema_id: int | None = None
    value_schema_id: int | None = None


@dataclass(frozen=True)
class Case:
    name: str
    statements: tuple[str, ...]
    inputs: tuple[CaseRecord, ...] = ()
    outputs: tuple[CaseRecord, ...] = ()
    topics: tuple[CaseTopic, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    expected_error: str | None = None
    """Words of the error that the statements must give; empty: any error."""
    problem: str | None = None
    """Why the case cannot be run: a part of it is missing or is not what it should be."""


def read_cases(path: Path) -> list[Case]:
    try:
        document = read_json(path.read_text())
    except ValueError as error:
        raise BadCase(f"{path} is no JSON: {error}") from error
    tests = document.get("tests") if isinstance(document, dict) else None
    if not isinstance(tests, list):
        raise BadCase(f'{path} holds no cases: it must be {{"tests": [...]}}')
    return [case for at, test in enumerate(tests) for case in _cases(at, test)]


def _cases(at: int, test: Any) -> Iterator[Case]:
    """A case once for each of its formats. One that cannot be read is a failed case: the others still run."""
    if not isinstance(test, dict):
        yield Case(f"case {at}", (), problem=f"a case is an object, not {str(test)[:80]}")
        return
    if not test.get("enabled", True):
        return
    for form in test.get("format") or [None]:
        name = str(test.get("name", f"case {at}"))
        name = name if form is None else f"{name} - {form}"
        try:
            yield _case(test, name, form)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            yield Case(name, (), problem=f"the case cannot be read: {type(error).__name__}: {error}")


def _case(test: dict[str, Any], name: str, form: str | None) -> Case:
    def filled(text: str) -> str:
        return text if form is None else text.replace("{FORMAT}", form)

    for missing in ("name", "statements"):
        if missing not in test:
            raise ValueError(f'it has no "{missing}"')
    return Case(
        name,
        tuple(filled(text) for text in _listed(test["statements"])),
        tuple(read_record(record, filled) for record in test.get("inputs") or ()),
        tuple(read_record(record, filled) for record in test.get("outputs") or ()),
        tuple(_topic(topic, form, filled) for topic in test.get("topics") or ()),
        {**(test.get("properties") or {})},
        _expected(test.get("expectedException"), filled),
    )


def _listed(statements: Any) -> list[str]:
    return [statements] if isinstance(statements, str) else [str(text) for text in statements]


def _expected(given: Any, filled: Callable[[str], str]) -> str | None:
    """The words of `expectedException`, which is an object or the words alone."""
    if given is None:
        return None
    words = given.get("message") if isinstance(given, dict) else given
    return filled("" if words is None else str(words))


def read_record(given: dict[str, Any], filled: Callable[[str], str] = str) -> CaseRecord:
    window = given.get("window")
    headers = given.get("headers")
    return CaseRecord(
        filled(given["topic"]),
        given.get("key"),
        given.get("value"),
        given.get("timestamp"),
        None
        if window is None
        else CaseWindow(window["start"], window["end"], str(window.get("type", "")).lower() == "session"),
        None if headers is None else tuple(_header(header) for header in headers),
    )


def _header(given: dict[str, Any]) -> tuple[str, bytes | None]:
    key, value = given.get("KEY", given.get("key")), given.get("VALUE", given.get("value"))
    return str(key), None if value is None else b64decode(value)


def _topic(given: dict[str, Any] | str, form: str | None, filled: Callable[[str], str]) -> CaseTopic:
    if isinstance(given, str):
        return CaseTopic(filled(given))
    named = given.get("format")
    return CaseTopic(
        filled(given["name"]),
        given.get("numPartitions", given.get("partitions", DEFAULT_PARTITIONS)),
        given.get("keySchema"),
        given.get("valueSchema", given.get("schema")),
        _filled(given.get("keyFormat"), filled),
        _filled(given.get("valueFormat", named), filled) or form,
        given.get("keySchemaId"),
        given.get("valueSchemaId"),
    )


def _filled(given: Any, filled: Callable[[str], str]) -> str | None:
    """A format's name, which may stand in an object with its properties."""
    text = given.get("format") if isinstance(given, dict) else given
    return None if text is None else filled(str(text))
