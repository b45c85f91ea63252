"""Records to an MQTT broker. A batch is safe when the broker has confirmed every message of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import non_empty
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.retries import Retries, retry_keys
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.mqtt.connection import KEYS, client, connect, connection_mistakes
from penstock.connect.converters.json_converter import JsonConverter
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import ConnectError, DataError, RetriableError
from penstock.protocol.topic_partition import TopicPartition

_PLAIN: Final = JsonConverter({"schemas.enable": "false", "decimal.format": "NUMERIC"})
INFLIGHT: Final = 1_000
CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "mqtt.topic",
        Kind.STRING,
        "${topic}",
        importance=Importance.MEDIUM,
        validator=non_empty,
        doc="The MQTT topic. ${topic} is the topic, ${key} the record's key.",
    )
    .define(
        "mqtt.retained.enabled",
        Kind.BOOLEAN,
        False,
        importance=Importance.MEDIUM,
        doc="Whether the broker keeps the last message of a topic.",
    )
    .plus(retry_keys(10, 1000))
)


class MqttSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._retries = Retries(self._given["max.retries"], self._given["retry.backoff.ms"])
        self._limit_s: float = self._given["mqtt.connect.timeout.seconds"]
        self._client: Any = None
        self._messages: list[tuple[str, bytes]] = []

    def put(self, records: Sequence[ConnectRecord]) -> None:
        for record in records:
            try:
                self._messages.append((self._topic(record), _payload(record)))
            except DataError as error:
                self.reject(record, error)

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        if self._messages:
            self._retries.run(self._publish)
        self._messages.clear()

    def _publish(self) -> None:
        if self._client is None or not self._client.is_connected():
            self._client = self._connected()
        qos, retain = self._given["mqtt.qos"], self._given["mqtt.retained.enabled"]
        sent = [self._client.publish(topic, data, qos, retain) for topic, data in self._messages]
        deadline = SystemClock.monotonic() + self._limit_s
        for each in sent:
            try:
                each.wait_for_publish(max(0.0, deadline - SystemClock.monotonic()))
            except (RuntimeError, ValueError) as error:
                raise RetriableError(f"the MQTT broker is gone: {error}") from error
            if not each.is_published():
                self.close()
                raise RetriableError(f"the MQTT broker did not confirm within {self._limit_s} s")

    def _connected(self) -> Any:
        self.close()
        made = client(self._given, "", keeps=False)
        made.max_inflight_messages_set(INFLIGHT)
        made.max_queued_messages_set(0)
        answered = threading.Event()
        refused: list[str] = []

        def on_connect(_client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
            if reason.is_failure:
                refused.append(str(reason))
            answered.set()

        made.on_connect = on_connect
        connect(made, self._given)
        made.loop_start()
        if not answered.wait(self._limit_s):
            made.loop_stop()
            raise RetriableError(f"the MQTT broker did not answer within {self._limit_s} s")
        if refused:
            made.disconnect()
            made.loop_stop()
            raise ConnectError(f"the MQTT broker refused the connection: {refused[0]}")
        return made

    def _topic(self, record: ConnectRecord) -> str:
        name: str = self._given["mqtt.topic"].replace("${topic}", record.topic)
        if "${key}" in name:
            if record.key is None:
                raise DataError("the record has no key, which the MQTT topic needs")
            name = name.replace("${key}", java_text(record.key))
        if any(each in name for each in "#+\0") or not 0 < len(name.encode()) < 65536:
            raise DataError(f"{name[:200]!r} is no MQTT topic")
        return name

    def close(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None


def _payload(record: ConnectRecord) -> bytes:
    match record.value:
        case None:
            return b""
        case bytes():
            return record.value
        case Struct() | dict() | list():
            return _PLAIN.from_connect(record.value_schema, record.value) or json.dumps(None).encode()
    return java_text(record.value).encode()


class MqttSink(SinkConnector):
    NAMES: ClassVar = ("io.confluent.connect.mqtt.MqttSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = MqttSinkTask
    TASK_NAME: ClassVar = "io.confluent.connect.mqtt.MqttSinkTask"
    GUARANTEE: ClassVar = (
        "at least once with mqtt.qos 1 or 2: a batch is safe when the broker has confirmed it. At most once "
        "with 0"
    )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        return connection_mistakes(config, {})
