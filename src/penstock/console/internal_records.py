"""Records of the platform's internal topics as JSON: committed offsets, groups, transactions. Pure.

The cluster's metadata is no topic that a client may read; its log is shown by `kafka-dump-log`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any, Final

from penstock.client.paging import Message
from penstock.groups import consumer_records, group_records, offset_records
from penstock.groups.record_keys import KeyKind, read_kind
from penstock.transactions import transaction_records

_VALUES: Final[Mapping[KeyKind, Callable[[bytes], Any]]] = {
    KeyKind.OFFSET_COMMIT_OLD: offset_records.decode_value,
    KeyKind.OFFSET_COMMIT: offset_records.decode_value,
    KeyKind.GROUP: group_records.decode_value,
    KeyKind.CONSUMER_GROUP: consumer_records.decode_number,
    KeyKind.CONSUMER_TOPICS: consumer_records.decode_topics,
    KeyKind.CONSUMER_MEMBER: consumer_records.decode_member,
    KeyKind.CONSUMER_TARGET: consumer_records.decode_number,
    KeyKind.CONSUMER_TARGET_MEMBER: consumer_records.decode_target,
    KeyKind.CONSUMER_CURRENT_MEMBER: consumer_records.decode_current,
    KeyKind.CONSUMER_REGEX: consumer_records.decode_regex,
}
_WITH_MEMBER: Final = (
    KeyKind.CONSUMER_MEMBER,
    KeyKind.CONSUMER_TARGET_MEMBER,
    KeyKind.CONSUMER_CURRENT_MEMBER,
)


def _group_record(message: Message, of_key: bool) -> Any:
    if message.key is None:
        return None
    kind, reader = read_kind(message.key)
    if kind is None:
        return None
    if not of_key:
        return None if message.value is None else plain(_VALUES[kind](message.value))
    if kind in (KeyKind.OFFSET_COMMIT, KeyKind.OFFSET_COMMIT_OLD):
        return {"kind": "offset", **plain(offset_records.decode_key(reader))}
    found = {"kind": kind.name.lower(), "group": reader.string()}
    return found | ({"member": reader.string()} if kind in _WITH_MEMBER else {})


def _transaction_record(message: Message, of_key: bool) -> Any:
    if message.key is None:
        return None
    name = transaction_records.decode_key(message.key)
    if name is None:
        return None
    if of_key:
        return {"transactional_id": name}
    return None if message.value is None else plain(transaction_records.decode_value(name, message.value))


def plain(value: Any) -> Any:
    """As JSON has it: tuples with names are objects, bytes are hex."""
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | set | frozenset):
        return [
            plain(each) for each in (value if isinstance(value, list | tuple) else sorted(value, key=str))
        ]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


INTERNAL: Final[Mapping[str, Callable[[Message, bool], Any]]] = {
    "__consumer_offsets": _group_record,
    "__transaction_state": _transaction_record,
}
