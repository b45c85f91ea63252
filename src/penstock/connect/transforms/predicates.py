"""Predicates: which records a transform is for."""

from __future__ import annotations

from typing import Protocol

from penstock.connect.data.record import ConnectRecord
from penstock.connect.transforms.java_regex import compiled
from penstock.connect.transforms.settings import Settings


class Predicate(Protocol):
    def test(self, record: ConnectRecord) -> bool: ...


class HasHeaderKey:
    def __init__(self, settings: Settings) -> None:
        self._name = settings.non_empty("name")

    def test(self, record: ConnectRecord) -> bool:
        return any(each.key == self._name for each in record.headers)


class RecordIsTombstone:
    def __init__(self, settings: Settings) -> None:
        pass

    def test(self, record: ConnectRecord) -> bool:
        return record.value is None


class TopicNameMatches:
    def __init__(self, settings: Settings) -> None:
        self._pattern = compiled("pattern", settings.non_empty("pattern"))

    def test(self, record: ConnectRecord) -> bool:
        return self._pattern.fullmatch(record.topic) is not None
