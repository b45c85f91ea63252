"""Messages of an MQTT broker to a topic. MQTT pushes, and keeps a session for a client that comes back. So
the connector, which lives in the driver, has the connection. It hands what has come to the task of each
batch.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from penstock.connect.api import ConfigDef, ConnectRecord, Header, Importance, Kind
from penstock.connect.api.config_def import non_empty
from penstock.connect.api.refusals import Mistakes
from penstock.connect.api.source import SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.mqtt.connection import KEYS, client, connect, connection_mistakes
from penstock.connect.connectors.mqtt.inbox import Inbox, Message
from penstock.connect.data import schema as s
from penstock.connect.errors import ConnectError, RetriableError

HANDED: Final = "penstock.worker.messages"
log = logging.getLogger(__name__)
CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "mqtt.topics",
        Kind.LIST,
        importance=Importance.HIGH,
        doc="What is subscribed to; + and # are MQTT's wildcards.",
    )
    .define(
        "kafka.topic", Kind.STRING, "mqtt", importance=Importance.HIGH, validator=non_empty, doc="The topic."
    )
    .define(
        "mqtt.client.id",
        Kind.STRING,
        "",
        importance=Importance.MEDIUM,
        doc="The name of the session that the broker keeps; the connector's name if it is not given.",
    )
)


class MqttSourceTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        self._given = CONFIG.parse(config)
        self._messages: list[dict[str, Any]] = json.loads(config.get(HANDED) or "[]")
        self._place = {"server": self._given["mqtt.server.uri"], "client": client_name(config, self._given)}

    def poll(self) -> Sequence[SourceRecord]:
        messages, self._messages = self._messages, []
        return [
            SourceRecord(self._place, {"number": each["number"]}, self._record(each)) for each in messages
        ]

    def _record(self, message: dict[str, Any]) -> ConnectRecord:
        headers = (
            Header("mqtt.message.id", message["mid"], s.INT32),
            Header("mqtt.qos", message["qos"], s.INT32),
            Header("mqtt.retained", message["retained"], s.BOOLEAN),
            Header("mqtt.duplicate", message["duplicate"], s.BOOLEAN),
        )
        value = base64.b64decode(message["payload"])
        return ConnectRecord(
            self._given["kafka.topic"], None, message["topic"], s.STRING, value, s.BYTES, headers=headers
        )


def client_name(config: Mapping[str, str], given: Mapping[str, Any]) -> str:
    return str(given["mqtt.client.id"] or f"penstock-{config.get('name', 'mqtt')}")


def _shown(message: Message) -> dict[str, Any]:
    return {
        "number": message.number, "mid": message.mid, "qos": message.qos, "retained": message.retained,
        "duplicate": message.duplicate, "topic": message.topic,
        "payload": base64.b64encode(message.payload).decode(),
    }  # fmt: skip


class MqttSource(SourceConnector):
    NAMES: ClassVar = ("io.confluent.connect.mqtt.MqttSourceConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = MqttSourceTask
    TASK_NAME: ClassVar = "io.confluent.connect.mqtt.MqttSourceTask"
    GUARANTEE: ClassVar = (
        "at least once with mqtt.qos 1 or 2: a message is confirmed when it is committed. At most once with 0"
    )
    POLL_MS: ClassVar = 100

    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._client: Any = None
        self._inbox = Inbox()
        self._refused = ""

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        return connection_mistakes(config, {"mqtt.topics.": ""})

    def has_news(self, offsets: SourceOffsets) -> bool:
        if self._client is None:
            try:
                self._open()
            except RetriableError as error:
                log.warning("%s; it is tried again", error)
        if self._refused:
            raise ConnectError(f"the MQTT broker refused it: {self._refused}")
        return len(self._inbox) > 0

    def _open(self) -> None:
        made = client(self._given, client_name(self.config, self._given), keeps=True)
        made.on_connect, made.on_message = self._connected, self._arrived
        made.on_subscribe = self._subscribed
        connect(made, self._given)
        made.loop_start()
        self._client = made

    def _connected(self, made: Any, _data: Any, flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._refused = str(reason)
            return
        self._inbox.connected(session_present=flags.session_present)
        made.subscribe([(each, self._given["mqtt.qos"]) for each in self._given["mqtt.topics"]])

    def _subscribed(self, _client: Any, _data: Any, _mid: Any, reasons: Any, _properties: Any) -> None:
        refused = [str(each) for each in reasons if each.is_failure]
        if refused:
            self._refused = f"a subscription: {refused[0]}"

    def _arrived(self, _client: Any, _data: Any, message: Any) -> None:
        self._inbox.add(message.mid, message.qos, message.retain, message.dup, message.topic, message.payload)

    def handed(self, number: int) -> Mapping[str, str]:
        return {HANDED: json.dumps([_shown(each) for each in self._inbox.handed()])}

    def committed(self, offsets: SourceOffsets) -> None:
        place = {"server": self._given["mqtt.server.uri"], "client": client_name(self.config, self._given)}
        at = offsets.get(place)
        if at is not None and self._client is not None:
            self._inbox.done(int(at["number"]), lambda each: self._client.ack(each.mid, each.qos))

    def close(self) -> None:
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None
