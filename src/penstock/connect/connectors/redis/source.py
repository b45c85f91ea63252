"""Entries of a stream of Redis to a topic. The offset is the id of the last entry, committed with the
records; a consumer group of Redis is not needed, and not used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.redis.connection import KEYS, connected, connection_mistakes, errors
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError, ConnectError, RetriableError

_ID: Final = re.compile(r"\d{1,20}(-\d{1,20})?")
_STREAM: Final = "stream"
VALUE: Final = s.struct_schema(
    {"id": s.STRING, "stream": s.STRING, "body": s.map_schema(s.STRING, s.STRING)},
    name="com.redis.kafka.connect.stream.Value",
)


def _entry_id(name: str, value: Any) -> None:
    if not _ID.fullmatch(str(value)):
        raise ConfigError(name, value, "It is the id of an entry, such as 0-0")


CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "redis.stream.name", Kind.STRING, importance=Importance.HIGH, validator=non_empty, doc="The stream."
    )
    .define(
        "redis.stream.offset",
        Kind.STRING,
        "0-0",
        importance=Importance.MEDIUM,
        validator=_entry_id,
        doc="The id after which reading begins.",
    )
    .define(
        "topic",
        Kind.STRING,
        "${stream}",
        importance=Importance.HIGH,
        validator=non_empty,
        doc="The topic; ${stream} is the name of the stream.",
    )
    .define(
        "batch.size",
        Kind.LONG,
        1000,
        importance=Importance.LOW,
        validator=at_least(1),
        doc="How many entries are read at a time.",
    )
)
UNSUPPORTED: Final = {
    "redis.stream.consumer.group": "Offsets are kept with the records.",
    "redis.stream.consumer.name": "Offsets are kept with the records.",
    "redis.stream.delivery": "Each entry comes exactly once.",
    "redis.stream.block": "",
    "redis.keys.": "Only streams are read.",
    "mode": "Only streams are read.",
}


class RedisStreamTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        self._given = CONFIG.parse(config)
        self._redis = connected(self._given)
        self._name: str = self._given["redis.stream.name"]
        self._place = {_STREAM: self._name}
        self._topic = self._given["topic"].replace("${stream}", self._name)

    def poll(self) -> Sequence[SourceRecord]:
        after = last_id(self.offsets, self._given)
        with errors():
            found = self._redis.xrange(self._name, min=f"({after}", count=self._given["batch.size"])
        return [self._record(key.decode(), fields) for key, fields in found if fields is not None]

    def _record(self, key: str, fields: Mapping[bytes, bytes]) -> SourceRecord:
        body = {name.decode(errors="replace"): each.decode(errors="replace") for name, each in fields.items()}
        value = Struct(VALUE, {"id": key, "stream": self._name, "body": body})
        record = ConnectRecord(
            self._topic, None, key, s.STRING, value, VALUE, timestamp=int(key.partition("-")[0])
        )
        return SourceRecord(self._place, {"offset": key}, record)

    def close(self) -> None:
        self._redis.close()


def last_id(offsets: SourceOffsets, given: Mapping[str, Any]) -> str:
    known = offsets.get({_STREAM: given["redis.stream.name"]})
    return str(known["offset"]) if known else str(given["redis.stream.offset"])


class RedisStreamSource(SourceConnector):
    NAMES: ClassVar = (
        "com.redis.kafka.connect.RedisStreamSourceConnector",
        "com.redis.kafka.connect.RedisSourceConnector",
    )
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = RedisStreamTask
    TASK_NAME: ClassVar = "com.redis.kafka.connect.source.RedisStreamSourceTask"
    GUARANTEE: ClassVar = "exactly once: the id of the last entry is committed with the records"
    POLL_MS: ClassVar = 200

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._redis = connected(self._given)

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        return connection_mistakes(config, UNSUPPORTED)

    def has_news(self, offsets: SourceOffsets) -> bool:
        try:
            with errors():
                name, after = self._given["redis.stream.name"], last_id(offsets, self._given)
                return bool(self._redis.xrange(name, min=f"({after}", count=1))
        except RetriableError:
            return False  # it is asked again

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {_STREAM}:
                raise ConnectError("Partition objects should contain the key 'stream' and no other")
            if offset is not None and not _ID.fullmatch(str(offset.get("offset"))):
                raise ConnectError("Offset objects should either be null or contain the key 'offset', an id")

    def close(self) -> None:
        self._redis.close()
