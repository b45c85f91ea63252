"""Confluent's partitioners: into which folder a record goes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo

from penstock.connect.data.dates import from_millis
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.data.text import java_text
from penstock.connect.errors import ConfigError, DataError

Partitioner = Callable[[ConnectRecord], str]
PACKAGE: Final = "io.confluent.connect.storage.partitioner."
NAMES: Final = tuple(
    f"{PACKAGE}{name}Partitioner" for name in ("Default", "Field", "TimeBased", "Hourly", "Daily")
)
_FORMS: Final = {"YYYY": "%Y", "yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_FORM: Final = re.compile(r"'([^']*)'|(YYYY|yyyy|MM|dd|HH|mm|ss)|([A-Za-z]+)|(.)", re.DOTALL)
_HOURLY: Final = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
_DAILY: Final = "'year'=YYYY/'month'=MM/'day'=dd"


def short_name(name: str) -> str:
    return name.removeprefix(PACKAGE).removesuffix("Partitioner")


def partitioner(settings: Mapping[str, Any]) -> Partitioner:
    """ConfigError for a form that cannot be read."""
    kind = short_name(settings["partitioner.class"])
    if kind == "Default":
        return lambda record: f"partition={record.partition or 0}"
    if kind == "Field":
        names = settings["partition.field.name"]
        return lambda record: "/".join(f"{name}={_safe(field_value(record, name))}" for name in names)
    form = {"Hourly": _HOURLY, "Daily": _DAILY}.get(kind) or settings["path.format"]
    pattern, zone = time_form(form), ZoneInfo(settings["timezone"])
    duration = {"Hourly": 3_600_000, "Daily": 86_400_000}.get(kind) or settings["partition.duration.ms"]
    field = settings["timestamp.field"] if settings["timestamp.extractor"] == "RecordField" else None

    def folder(record: ConnectRecord) -> str:
        millis = _millis(record, field)
        offset = int(
            (from_millis(millis).astimezone(zone).utcoffset() or dt.timedelta()).total_seconds() * 1000
        )
        begin = (millis + offset) // duration * duration - offset
        return from_millis(begin).astimezone(zone).strftime(pattern)

    return folder


def time_form(form: str) -> str:
    """Java's form of a date as Python's."""
    parts = []
    for quoted, token, letters, other in _FORM.findall(form):
        if letters:
            raise ConfigError(
                "path.format", form, f"{letters} is not supported; YYYY, MM, dd, HH, mm and ss are"
            )
        parts.append(_FORMS[token] if token else (quoted or other).replace("%", "%%"))
    return "".join(parts)


def _millis(record: ConnectRecord, field: str | None) -> int:
    if field is None:
        if record.timestamp is None:
            raise DataError("a record without a timestamp has no place in a time-based folder")
        return record.timestamp
    value = field_value(record, field)
    if isinstance(value, dt.datetime):
        return int(value.timestamp() * 1000)
    if isinstance(value, int):
        return value
    try:
        return int(dt.datetime.fromisoformat(str(value)).timestamp() * 1000)
    except ValueError:
        raise DataError(f"the field {field} holds no time: {value!r}") from None


def field_value(record: ConnectRecord, name: str) -> Any:
    value = record.value
    for part in name.split("."):
        if isinstance(value, Struct) and value.schema.field(part) is not None:
            value = value.get(part)
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise DataError(f"the value has no field {name}")
    return value


def _safe(value: Any) -> str:
    """No value leaves its folder."""
    text = quote(java_text(value), safe=" :+@,;=!()'")
    return "%2E" * len(text) if text in ("", ".", "..") and text else text or "null"
