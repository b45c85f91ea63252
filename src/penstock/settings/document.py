"""The settings as a page for people: every topic and broker setting, and those that are accepted and change
nothing.

`python -m penstock.settings.document` prints what stands in docs/settings.md; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.settings import broker_definitions, group_definitions, topic_definitions
from penstock.settings.definition import Definition
from penstock.settings.inert import INERT_PREFIXES, INERT_SETTINGS

_HEAD: Final = """# Settings

Names, defaults and meanings are Kafka 4's. A broker takes them from a properties file
(`penstock broker --config server.properties`), from variables (`KAFKA_LOG_DIRS` is `log.dirs`) and
from `--set name=value`; the later of these wins. A topic takes its own when it is created or
altered, and inherits the others from the broker.

A value that is not allowed is an error that names the setting, the value and what is allowed. An
unknown broker setting is a warning; an unknown topic setting is an error, as in Kafka."""


def render() -> str:
    """The whole page, in Markdown."""
    parts = [
        _HEAD,
        "## Topics",
        "The right column names the broker settings that give the default.",
        _table(
            ("setting", "default", "meaning", "from the broker's"),
            ((*_row(row), _synonyms(row)) for row in _sorted(topic_definitions())),
        ),
        "## Broker",
        "Settings marked *dynamic* can be changed while the broker runs.",
        _table(
            ("setting", "default", "meaning", ""),
            ((*_row(row), "" if row.read_only else "dynamic") for row in _sorted(broker_definitions())),
        ),
        "## Groups",
        "A group of the consumer protocol may have these of its own, changed by any admin client.",
        _table(
            ("setting", "default", "meaning", "from the broker's"),
            ((*_row(row), _synonyms(row)) for row in _sorted(group_definitions())),
        ),
        "## Accepted, without effect",
        "An existing `server.properties` may hold these; they start no warning and change nothing.",
        _table(("setting", "why"), _inert()),
    ]
    return "\n\n".join(parts) + "\n"


def _sorted(rows: Mapping[str, Definition]) -> list[Definition]:
    return [rows[name] for name in sorted(rows)]


def _row(row: Definition) -> tuple[str, str, str]:
    default = row.default_text
    return _code(row.name), "" if default in (None, "") else _code(default or ""), row.doc


def _synonyms(row: Definition) -> str:
    return ", ".join(_code(name) for name in row.synonyms)


def _inert() -> list[tuple[str, str]]:
    named = [(_code(name), why) for name, why in sorted(INERT_SETTINGS.items())]
    return named + [(_code(prefix + "…"), why) for prefix, why in INERT_PREFIXES]


def _code(text: str) -> str:
    return f"`{text}`"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    print(render(), end="")
