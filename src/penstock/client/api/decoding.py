"""Messages of librdkafka become records: key and value deserialized, with errors that say where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.api import plugins, serializers
from penstock.client.api.exceptions import RecordDeserializationException
from penstock.client.api.records import ConsumerRecord
from penstock.client.api.serializers import BytesDeserializer
from penstock.client.api.taken import TIMESTAMP_TYPES
from penstock.protocol.topic_partition import TopicPartition


class Decoder:
    def __init__(self, key: Any, value: Any, own: Mapping[str, Any], settings: dict[str, Any]) -> None:
        """`key` and `value` win over the settings that name deserializers."""
        self._key = _deserializer("key", key or own.get("key.deserializer"), settings)
        self._value = _deserializer("value", value or own.get("value.deserializer"), settings)
        self.is_plain = type(self._key) is BytesDeserializer and type(self._value) is BytesDeserializer
        """Keys and values stay bytes, so nothing of the user's runs."""

    def record(self, message: Any, delivery_count: int | None = None) -> ConsumerRecord:
        kind, timestamp = message.timestamp()
        key, value = message.key(), message.value()
        return ConsumerRecord(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp if kind else -1,
            None if key is None else _deserialized(self._key, message, key, "key"),
            None if value is None else _deserialized(self._value, message, value, "value"),
            message.headers() or (),
            message.leader_epoch(),
            TIMESTAMP_TYPES.get(kind),
            delivery_count,
        )

    def close(self) -> None:
        plugins.close(self._key)
        plugins.close(self._value)


def _deserializer(side: str, given: Any, settings: dict[str, Any]) -> Any:
    made = plugins.plugin(f"{side}.deserializer", given or BytesDeserializer, serializers.BY_JAVA_NAME)
    if not hasattr(made, "deserialize"):
        made = serializers.of_function(made)
    plugins.configure(made, settings, side == "key")
    return made


def _deserialized(deserializer: Any, message: Any, data: bytes, side: str) -> Any:
    try:
        return deserializer.deserialize(message.topic(), data)
    except Exception as error:
        raise RecordDeserializationException(
            f"Error deserializing the {side} of {message.topic()}-{message.partition()} at offset "
            f"{message.offset()}: {error} If needed, seek past the record to continue consumption.",
            TopicPartition(message.topic(), message.partition()),
            message.offset(),
        ) from error
