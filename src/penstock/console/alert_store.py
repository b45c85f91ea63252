"""Where rules, silences and the history of alerts are kept: a compacted topic, so that every console of the
cluster has the same. `MemoryStore` is the same without a broker, for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from penstock.client.latest_by_key import BytesCodec, LatestByKey
from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import Decision, ReplayedTopic
from penstock.console.alert_engine import Event, Silence
from penstock.console.alert_rules import Rule

TOPIC: Final = "__penstock_alerts"
EVENTS_MAX: Final = 500
KINDS: Final[Mapping[str, type]] = {"rule": Rule, "silence": Silence, "event": Event}

Change = tuple[bytes, bytes | None]


class Store(Protocol):
    """Blocking; the console calls it in threads. `values` is read from anywhere."""

    def start(self) -> None: ...

    @property
    def values(self) -> Mapping[bytes, bytes]: ...

    def write(self, changes: list[Change]) -> None: ...

    def close(self) -> None: ...


class TopicStore:
    def __init__(self, bootstrap_servers: str, client: Mapping[str, Any] | None = None) -> None:
        self._settings = ReplayedTopicSettings(bootstrap_servers, TOPIC, client=dict(client or {}))
        self._topic: ReplayedTopic[Change, LatestByKey[bytes, bytes]] | None = None

    def start(self) -> None:
        topic = ReplayedTopic(self._settings, BytesCodec(), LatestByKey[bytes, bytes]())
        topic.start()
        self._topic = topic

    @property
    def values(self) -> Mapping[bytes, bytes]:
        return self._topic.view.state.values if self._topic is not None else {}

    def write(self, changes: list[Change]) -> None:
        assert self._topic is not None
        self._topic.change(lambda _: Decision(changes, None))

    def close(self) -> None:
        if self._topic is not None:
            self._topic.close()


class MemoryStore:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def start(self) -> None:
        """Nothing is to be read."""

    def write(self, changes: list[Change]) -> None:
        for key, value in changes:
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def close(self) -> None:
        """Nothing is open."""


def stored(kind: str, name: str, value: msgspec.Struct | None) -> Change:
    """A record of the topic; None takes it away."""
    return f"{kind}:{name}".encode(), None if value is None else msgspec.json.encode(value)


def read(values: Mapping[bytes, bytes], kind: str) -> list[Any]:
    """Everything of a kind; what a newer console wrote and this one cannot read is passed over."""
    found: list[Any] = []
    for key in sorted(values):
        if key.startswith(f"{kind}:".encode()):
            try:
                found.append(msgspec.json.decode(values[key], type=KINDS[kind]))
            except msgspec.MsgspecError:
                continue
    return found
