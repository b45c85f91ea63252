"""Topics to Redis. A batch is one transaction (MULTI … EXEC), and the offsets of its topics are part of it.

The keys of the offsets are watched from the moment they are read. A task that was thought dead and is not
can therefore not write: the transaction of the later one has changed them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import one_of
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.retries import Retries, retry_keys
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.redis.commands import COMMANDS, TYPES, Command, Writing
from penstock.connect.connectors.redis.connection import KEYS, connected, connection_mistakes, errors
from penstock.connect.errors import ConnectError, DataError, RetriableError
from penstock.protocol.topic_partition import TopicPartition

_HIGH, _MEDIUM = Importance.HIGH, Importance.MEDIUM
CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "redis.command",
        Kind.STRING,
        "",
        importance=_HIGH,
        validator=one_of("", *COMMANDS),
        recommended=COMMANDS,
        doc="What becomes of a record: HSET, SET, XADD, LPUSH, RPUSH, SADD or ZADD.",
    )
    .define(
        "redis.type",
        Kind.STRING,
        "STREAM",
        importance=_MEDIUM,
        validator=one_of(*TYPES),
        recommended=tuple(TYPES),
        doc="The same by the kind of data, where redis.command is not given.",
    )
    .define(
        "redis.key",
        Kind.STRING,
        "${topic}",
        importance=_HIGH,
        doc="The key of a stream, list or set, or the first part of keys. ${topic} is the topic.",
    )
    .define(
        "redis.separator",
        Kind.STRING,
        ":",
        importance=_MEDIUM,
        doc="Between redis.key and the record's key, for HSET and SET.",
    )
    .plus(retry_keys(10, 1000))
)
UNSUPPORTED: Final = {
    "redis.multiexec": "Every batch is a transaction.",
    "redis.operation.timeout": "Use redis.timeout.",
}


class RedisSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        given = CONFIG.parse(config)
        self._redis = connected(given)
        self._name = config.get("name", "")
        command = given["redis.command"] or TYPES[given["redis.type"]]
        self._writing = Writing(command, given["redis.key"], given["redis.separator"])
        self._retries = Retries(given["max.retries"], given["retry.backoff.ms"])
        self._commands: list[Command] = []
        self._found: dict[TopicPartition, bytes | None] = {}
        self._pipe: Any = None

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._found = self._retries.run(lambda: self._watched(sorted(partitions)))
        return {place: json.loads(text)["offset"] for place, text in self._found.items() if text}

    def _watched(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, bytes | None]:
        if self._pipe is not None:
            self._pipe.reset()
        with errors():
            self._pipe = self._redis.pipeline(transaction=True)
            names = [self._offset_key(place) for place in places]
            if not names:
                return {}
            self._pipe.watch(*names)
            return dict(zip(places, self._pipe.mget(names), strict=True))

    def put(self, records: Sequence[ConnectRecord]) -> None:
        for record in records:
            try:
                self._commands += self._writing.command(record)
            except DataError as error:
                self.reject(record, error)

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        after = {place: json.dumps(_offset(place, end)).encode() for place, end in ends.items()}
        try:
            self._written(after)
        except RetriableError:
            self._retries.run(lambda: self._again(after))
        self._commands.clear()

    def _again(self, after: Mapping[TopicPartition, bytes]) -> None:
        """The answer was lost: the offsets say whether the transaction was done."""
        found = self._watched(sorted(after))
        if found == dict(after):
            return
        if any(found[place] != self._found.get(place) for place in found):
            raise ConnectError("another task has written these partitions meanwhile")
        self._written(after)

    def _written(self, after: Mapping[TopicPartition, bytes]) -> None:
        with errors():
            pipe = self._pipe if self._pipe is not None else self._redis.pipeline(transaction=True)
            pipe.multi()
            for command in self._commands:
                pipe.execute_command(*command)
            for place, text in after.items():
                pipe.set(self._offset_key(place), text)
            pipe.execute()

    def _offset_key(self, place: TopicPartition) -> str:
        """With the connector's name: two that read one topic into one server must not share their offsets."""
        return f"penstock.connect.offset.{self._name}.{place.topic}.{place.partition}"

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.reset()
        self._redis.close()


def _offset(place: TopicPartition, end: int) -> dict[str, Any]:
    return {"topic": place.topic, "partition": place.partition, "offset": end}


class RedisSink(SinkConnector):
    NAMES: ClassVar = ("com.redis.kafka.connect.RedisSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = RedisSinkTask
    TASK_NAME: ClassVar = "com.redis.kafka.connect.sink.RedisSinkTask"
    GUARANTEE: ClassVar = "exactly once: a batch and its offsets are one transaction of Redis"

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = connection_mistakes(config, UNSUPPORTED)
        for name in ("redis.command", "redis.type"):
            if str(config.get(name)).upper() in ("JSONSET", "TSADD", "JSON", "TIMESERIES"):
                found.append((name, "Commands of modules are not supported"))
        return found
