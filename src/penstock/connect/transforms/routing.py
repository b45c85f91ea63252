"""Transforms of a record's topic: RegexRouter, TimestampRouter. And Filter, which drops records."""

from __future__ import annotations

import re

from penstock.connect.data.record import ConnectRecord
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.date_patterns import DatePattern
from penstock.connect.transforms.java_regex import compiled, replacement
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side


class RegexRouter:
    """A topic that matches `regex` as a whole becomes `replacement`, with $1 for its groups."""

    def __init__(self, side: Side, settings: Settings) -> None:
        self._regex = compiled("regex", settings.needed("regex"))
        self._replacement = replacement(settings.needed("replacement"), self._regex)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        found = self._regex.fullmatch(record.topic)
        return record if found is None else record.with_topic(self._replacement(found))


class TimestampRouter:
    """`topic.format` with ${topic} and ${timestamp}, the latter in the pattern of `timestamp.format`."""

    def __init__(self, side: Side, settings: Settings) -> None:
        self._format = settings.text("topic.format", "${topic}-${timestamp}") or ""
        self._pattern = DatePattern("timestamp.format", settings.text("timestamp.format", "yyyyMMdd") or "")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {record}")
        stamp = self._pattern.format(record.timestamp)
        named = re.sub(r"\$\{topic\}", lambda _: record.topic, self._format)
        return record.with_topic(re.sub(r"\$\{timestamp\}", lambda _: stamp, named))


class Filter:
    """Drops every record that reaches it; a predicate says which do."""

    def __init__(self, side: Side, settings: Settings) -> None:
        pass

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        return None


__all__ = ["ConfigError", "Filter", "RegexRouter", "TimestampRouter"]
