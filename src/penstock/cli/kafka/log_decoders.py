"""How `kafka-dump-log` shows keys and values: as text or numbers, or as records of the internal topics."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Final

from penstock.cli.kafka.options import CommandFailed

Shown = str | None
Decoder = Callable[[bytes | None, bytes | None], tuple[Shown, Shown]]
TOMBSTONE: Final = "<DELETE>"
_API: Final = "org.apache.kafka.tools.api."
CLASSES: Final[dict[str, Callable[[bytes], str]]] = {
    f"{_API}StringDecoder": lambda data: data.decode("utf-8", "replace"),
    f"{_API}LongDecoder": lambda data: str(int.from_bytes(data, "big", signed=True)),
    f"{_API}IntegerDecoder": lambda data: str(int.from_bytes(data, "big", signed=True)),
    "kafka.serializer.StringDecoder": lambda data: data.decode("utf-8", "replace"),
}


def decoder(option: str, key_class: str = "", value_class: str = "") -> Decoder:
    """The decoder of an option such as `offsets-decoder`; without one, those of the two classes."""
    if option == "offsets-decoder":
        return _offsets
    if option == "transaction-log-decoder":
        return _transactions
    for name in (key_class, value_class):
        if name not in CLASSES:
            raise CommandFailed(f"java.lang.ClassNotFoundException: {name}")
    of_key, of_value = CLASSES[key_class], CLASSES[value_class]
    return lambda key, value: (
        None if key is None else of_key(key),
        None if value is None else of_value(value),
    )


def _offsets(key: bytes | None, value: bytes | None) -> tuple[Shown, Shown]:
    """Committed offsets and classic groups; of the other kinds the number and the bytes."""
    from penstock.groups import offset_records
    from penstock.groups.record_keys import KeyKind, read_kind

    if key is None:
        return None, None
    kind, reader = read_kind(key)
    if kind in (KeyKind.OFFSET_COMMIT, KeyKind.OFFSET_COMMIT_OLD):
        at = offset_records.decode_key(reader)
        shown = {"group": at.group, "topic": at.topic, "partition": at.partition}
        return _key(kind, shown), _value(value, _offset_fields)
    if kind is KeyKind.GROUP:
        return _key(kind, {"group": reader.string()}), _value(value, _group_fields)
    number = int.from_bytes(key[:2], "big")
    raw = None if value is None else {"base64": _base64(value[2:])}
    return _key(number, {"base64": _base64(key[2:])}), _value(value, lambda data: raw or {})


def _offset_fields(value: bytes) -> dict[str, Any]:
    from penstock.groups.offset_records import decode_value

    found = decode_value(value)
    version = int.from_bytes(value[:2], "big")
    fields: dict[str, Any] = {"offset": found.offset}
    if version >= 3:
        fields["leaderEpoch"] = found.leader_epoch
    fields |= {"metadata": found.metadata, "commitTimestamp": found.commit_timestamp_ms}
    if version == 1:
        fields["expireTimestamp"] = found.expire_timestamp_ms
    return fields


def _group_fields(value: bytes) -> dict[str, Any]:
    from penstock.groups.group_records import decode_value

    found = decode_value(value)
    consumers = found.protocol_type == "consumer"
    members = [
        {
            "memberId": member.member_id,
            "groupInstanceId": member.instance_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "rebalanceTimeout": member.rebalance_timeout_ms,
            "sessionTimeout": member.session_timeout_ms,
            "subscription": _subscription(member.subscription) if consumers else _base64(member.subscription),
            "assignment": _assignment(member.assignment) if consumers else _base64(member.assignment),
        }
        for member in found.members
    ]
    return {
        "protocolType": found.protocol_type,
        "generation": found.generation_id,
        "protocol": found.protocol,
        "leader": found.leader,
        "currentStateTimestamp": found.state_timestamp_ms,
        "members": members,
    }


def _subscription(data: bytes) -> Any:
    """What a member of consumers asked for."""
    from penstock.protocol.primitives import Reader

    if not data:
        return ""
    reader = Reader(memoryview(data))
    version = reader.int16()
    fields: dict[str, Any] = {"topics": [reader.string() for _ in range(reader.array(2))]}
    fields["userData"] = _user_data(reader)
    if version >= 1:
        fields["ownedPartitions"] = _partitions(reader)
    if version >= 2:
        fields["generationId"] = reader.int32()
    if version >= 3:
        fields["rackId"] = reader.nullable_string()
    return fields


def _assignment(data: bytes) -> Any:
    """What a member of consumers was given."""
    from penstock.protocol.primitives import Reader

    if not data:
        return ""
    reader = Reader(memoryview(data))
    reader.int16()
    return {"assignedPartitions": _partitions(reader), "userData": _user_data(reader)}


def _partitions(reader: Any) -> list[dict[str, Any]]:
    return [
        {"topic": reader.string(), "partitions": list(reader.int32_array())} for _ in range(reader.array(6))
    ]


def _user_data(reader: Any) -> str | None:
    data = reader.nullable_bytes()
    return None if data is None else _base64(bytes(data))


def _transactions(key: bytes | None, value: bytes | None) -> tuple[Shown, Shown]:
    from penstock.transactions.transaction_records import decode_key

    transactional_id = None if key is None else decode_key(key)
    if transactional_id is None:
        return None, None
    return _key(0, {"transactionalId": transactional_id}), _value(value, _transaction_fields)


def _transaction_fields(value: bytes) -> dict[str, Any]:
    from penstock.transactions.transaction import State
    from penstock.transactions.transaction_records import by_topic, decode_value

    found = decode_value("", value)
    partitions = [
        {"topic": topic, "partitionIds": indexes} for topic, indexes in by_topic(found.partitions).items()
    ]
    fields: dict[str, Any] = {"producerId": found.producer_id}
    if found.previous_producer_id != -1:
        fields["previousProducerId"] = found.previous_producer_id
    if found.next_producer_id != -1:
        fields["nextProducerId"] = found.next_producer_id
    fields |= {
        "producerEpoch": found.producer_epoch,
        "transactionTimeoutMs": found.timeout_ms,
        "transactionStatus": int(found.state),
        "transactionPartitions": None if found.state is State.EMPTY else partitions,
        "transactionLastUpdateTimestampMs": found.update_ms,
        "transactionStartTimestampMs": found.start_ms,
    }
    if found.version:
        fields["clientTransactionVersion"] = found.version
    return fields


def _key(kind: int, fields: dict[str, Any]) -> str:
    return _json({"type": str(int(kind)), "data": fields})


def _value(value: bytes | None, fields: Callable[[bytes], dict[str, Any]]) -> str:
    if value is None:
        return TOMBSTONE
    return _json({"version": str(int.from_bytes(value[:2], "big")), "data": fields(value)})


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
