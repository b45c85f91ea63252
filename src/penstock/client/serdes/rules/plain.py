"""Values as expressions see them: dicts, lists, texts, numbers and times; and messages made of them again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

_TIMESTAMP = "google.protobuf.Timestamp"


def plain(value: Any) -> Any:
    """What CEL and JSONata know. A decimal is a number with a fraction, a date counts days since 1970."""
    if hasattr(value, "ListFields"):
        return _of_message(value)
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return (value - datetime.date(1970, 1, 1)).days
    return value


def _of_message(message: Any) -> Any:
    """Every field by its name; a message that is not set is None, other fields have their defaults."""
    if message.DESCRIPTOR.full_name == _TIMESTAMP:
        return message.ToDatetime(datetime.UTC)
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if hasattr(value, "items"):
            found[field.name] = {str(key): plain(each) for key, each in value.items()}
        elif field.is_repeated:
            found[field.name] = [plain(each) for each in value]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = plain(value)
    return found


def restored(result: Any, like: Any) -> Any:
    """What an expression gave, as the format of `like` takes it."""
    if not hasattr(like, "ListFields"):
        return _whole(result)
    made = type(like)()
    _fill(made, result)
    return made


def _whole(result: Any) -> Any:
    """Lists and dicts of JSONata's own kinds become Python's."""
    if isinstance(result, Mapping):
        return {name: _whole(each) for name, each in result.items()}
    if isinstance(result, (list, tuple)):
        return [_whole(each) for each in result]
    return result


def _fill(message: Any, values: Any) -> None:
    if isinstance(values, datetime.datetime):
        message.FromDatetime(values.astimezone(datetime.UTC).replace(tzinfo=None))
        return
    for name, value in values.items():
        if value is None:
            continue
        field = message.DESCRIPTOR.fields_by_name[name]
        held = getattr(message, name)
        if isinstance(value, Mapping) and hasattr(held, "items"):
            for key, each in value.items():
                if isinstance(each, Mapping):
                    _fill(held[key], each)
                else:
                    held[key] = each
        elif field.is_repeated:
            for each in value:
                if field.message_type is None:
                    held.append(each)
                else:
                    _fill(held.add(), each)
        elif field.message_type is not None:
            held.SetInParent()
            _fill(held, value)
        else:
            setattr(message, name, value)
