"""MirrorMaker 2's three connectors, by their class names in Connect's REST API: each runs its part of a flow.

A connector lives in the worker that drives it. Its part of the flow runs there, and the copy is a Spark query
of the worker's application. Its one task has nothing to do: progress stands where a mirror keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, Importance, Kind
from penstock.connect.api.source import SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.mirror.flow import COPY, GROUPS, HEARTBEATS, Flow
from penstock.mirror.settings import FlowSettings
from penstock.settings.errors import SettingError

PACKAGE: Final = "org.apache.kafka.connect.mirror."
CONFIG: Final = (
    ConfigDef()
    .define("source.cluster.alias", Kind.STRING, importance=Importance.HIGH, doc="Alias of source cluster")
    .define(
        "target.cluster.alias",
        Kind.STRING,
        "target",
        importance=Importance.HIGH,
        doc="Alias of target cluster",
    )
    .define(
        "source.cluster.bootstrap.servers",
        Kind.STRING,
        importance=Importance.HIGH,
        doc="Brokers of the source cluster to connect to first.",
    )
    .define(
        "target.cluster.bootstrap.servers",
        Kind.STRING,
        importance=Importance.HIGH,
        doc="Brokers of the target cluster to connect to first.",
    )
    .define(
        "topics",
        Kind.LIST,
        ".*",
        importance=Importance.HIGH,
        doc="Topics to replicate. Supports comma-separated topic names and regexes.",
    )
    .define(
        "groups",
        Kind.LIST,
        ".*",
        importance=Importance.HIGH,
        doc="Consumer groups to replicate. Supports comma-separated group IDs and regexes.",
    )
)
"""The settings that must be there, and those that most people set. All others of MirrorMaker 2 are taken."""


class MirrorTask(SourceTask):
    """Reads nothing: the flow copies by itself."""

    def poll(self) -> Sequence[SourceRecord]:
        return ()


class _MirrorConnector(SourceConnector):
    CONFIG: ClassVar[ConfigDef] = CONFIG
    TASK: ClassVar[type[SourceTask]] = MirrorTask
    PARTS: ClassVar[frozenset[str]]

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._flow: Flow | None = None

    @classmethod
    def check(cls, config: Mapping[str, str]) -> list[tuple[str, str]]:
        try:
            flow_settings(config).checked()
        except SettingError as error:
            return [(error.setting or "source.cluster.alias", error.explain())]
        return []

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """The flow starts with its task."""
        if self._flow is None:
            self._flow = Flow(flow_settings(self.config).checked(), _session, 1, self.PARTS)
            self._flow.start()
        return [dict(self.config)]

    def has_news(self, offsets: SourceOffsets) -> bool:
        return False

    def close(self) -> None:
        if self._flow is not None:
            self._flow.stop()
            self._flow = None


class MirrorSourceConnector(_MirrorConnector):
    NAMES: ClassVar[tuple[str, ...]] = (f"{PACKAGE}MirrorSourceConnector",)
    TASK_NAME: ClassVar[str] = f"{PACKAGE}MirrorSourceTask"
    PARTS: ClassVar[frozenset[str]] = frozenset({COPY})


class MirrorCheckpointConnector(_MirrorConnector):
    NAMES: ClassVar[tuple[str, ...]] = (f"{PACKAGE}MirrorCheckpointConnector",)
    TASK_NAME: ClassVar[str] = f"{PACKAGE}MirrorCheckpointTask"
    PARTS: ClassVar[frozenset[str]] = frozenset({GROUPS})


class MirrorHeartbeatConnector(_MirrorConnector):
    NAMES: ClassVar[tuple[str, ...]] = (f"{PACKAGE}MirrorHeartbeatConnector",)
    TASK_NAME: ClassVar[str] = f"{PACKAGE}MirrorHeartbeatTask"
    PARTS: ClassVar[frozenset[str]] = frozenset({HEARTBEATS})


def flow_settings(config: Mapping[str, str]) -> FlowSettings:
    """A connector's settings are those of a flow, with nothing of a whole file around them."""
    texts = {"enabled": "true", "target.cluster.alias": "target", **config}
    return FlowSettings(texts.get("source.cluster.alias", ""), texts["target.cluster.alias"], texts)


def _session() -> Any:
    """The worker's own, when it has one already."""
    from penstock.spark import session

    return session("penstock-connect")
