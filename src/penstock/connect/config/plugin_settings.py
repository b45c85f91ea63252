"""Settings of transforms, predicates and converters, as Kafka describes and checks them.

What a class makes of its settings stands in `transforms` and `converters`; here is what the REST API says of
them before anything is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from penstock.connect.api.config_def import (
    ConfigDef,
    ConfigKey,
    Importance,
    Kind,
    Validator,
    Width,
    list_text,
    non_empty,
    one_of,
)
from penstock.connect.converters.table import CONVERTERS, HEADER_CONVERTERS
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.java_regex import compiled
from penstock.connect.transforms.table import PREDICATE_NAMES, TRANSFORM_NAMES

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
TEXT, LIST = Kind.STRING, Kind.LIST


def distinct(*, may_be_empty: bool = False) -> Validator:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError.of(name, f"Configuration '{name}' values must not be null.")
        if not value and not may_be_empty:
            words = "must not be empty. Valid values include: any non-empty value"
            raise ConfigError.of(name, f"Configuration '{name}' {words}")
        if len(set(value)) < len(value):
            raise ConfigError.of(name, f"Configuration '{name}' values must not be duplicated.")

    return check


def _some(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(name, None if value is None else list_text(value), "Empty list")


def _present(name: str, value: Any) -> None:
    if value is None:
        raise ConfigError(name, value, "entry must be non null")


def _regex(name: str, value: Any) -> None:
    if value is not None:
        compiled(name, value)


def _filled_regex(name: str, value: Any) -> None:
    non_empty(name, value)
    _regex(name, value)


def _renames(name: str, value: Any) -> None:
    for each in value or ():
        if len(each.split(":")) != 2:
            raise ConfigError(name, list_text(value), f"Invalid rename mapping: {each}")


def _cast(name: str, value: Any) -> None:
    if not value:
        raise ConfigError.of(name, "Must specify at least one field to cast.")


def _def(*keys: ConfigKey) -> ConfigDef:
    return ConfigDef(keys)


def _key(name: str, kind: Kind, importance: Importance, default: Any = ..., check: Any = None) -> ConfigKey:
    given = {} if default is ... else {"default": default}
    return ConfigKey(name, kind, importance=importance, validator=check, **given)


_NULLS: Final = _key("replace.null.with.default", Kind.BOOLEAN, MEDIUM, True)
_SIDED: Final = {
    "Cast": _def(_key("spec", LIST, HIGH, check=_cast), _NULLS),
    "ExtractField": _def(
        _key("field", TEXT, MEDIUM), _NULLS,
        _key("field.syntax.version", TEXT, HIGH, "V1", one_of("V1", "V2", ignore_case=True)),
    ),
    "Flatten": _def(_key("delimiter", TEXT, MEDIUM, ".")),
    "HeaderFrom": _def(
        _key("fields", LIST, HIGH, check=_some), _key("headers", LIST, HIGH, check=_some),
        _key("operation", TEXT, HIGH, check=one_of("move", "copy")), _NULLS,
    ),
    "HoistField": _def(_key("field", TEXT, MEDIUM)),
    "InsertField": _def(
        *(_key(f"{each}.field", TEXT, MEDIUM, None)
          for each in ("topic", "partition", "offset", "timestamp", "static")),
        _key("static.value", TEXT, MEDIUM, None), _NULLS,
    ),
    "MaskField": _def(
        _key("fields", LIST, HIGH, check=distinct()), _key("replacement", TEXT, LOW, None, non_empty), _NULLS,
    ),
    "ReplaceField": _def(
        _key("exclude", LIST, MEDIUM, [], distinct(may_be_empty=True)),
        _key("include", LIST, MEDIUM, [], distinct(may_be_empty=True)),
        _key("renames", LIST, MEDIUM, [], _renames), _NULLS,
    ),
    "SetSchemaMetadata": _def(
        _key("schema.name", TEXT, HIGH, None), _key("schema.version", Kind.INT, HIGH, None), _NULLS,
    ),
    "TimestampConverter": _def(
        _key("field", TEXT, HIGH, ""),
        _key("target.type", TEXT, HIGH, check=one_of("string", "unix", "Date", "Time", "Timestamp")),
        _key("format", TEXT, MEDIUM, ""),
        _key("unix.precision", TEXT, LOW, "milliseconds",
             one_of("nanoseconds", "microseconds", "milliseconds", "seconds")),
        _NULLS,
    ),
}  # fmt: skip
_WHOLE: Final = {
    "DropHeaders": _def(_key("headers", LIST, HIGH, check=distinct())),
    "Filter": _def(),
    "InsertHeader": _def(
        _key("header", TEXT, HIGH, check=_present), _key("value.literal", TEXT, HIGH, check=_present),
    ),
    "RegexRouter": _def(_key("regex", TEXT, HIGH, check=_regex), _key("replacement", TEXT, HIGH)),
    "TimestampRouter": _def(
        _key("topic.format", TEXT, HIGH, "${topic}-${timestamp}"),
        _key("timestamp.format", TEXT, HIGH, "yyyyMMdd"),
    ),
    "ValueToKey": _def(_key("fields", LIST, HIGH, check=distinct()), _NULLS),
}  # fmt: skip
_PREDICATES: Final = {
    "HasHeaderKey": _def(_key("name", TEXT, MEDIUM, check=non_empty)),
    "RecordIsTombstone": _def(),
    "TopicNameMatches": _def(_key("pattern", TEXT, MEDIUM, check=_filled_regex)),
}

_TYPE: Final = ConfigKey("converter.type", TEXT, importance=LOW)
_JSON_KEYS: Final = (
    ("schemas.enable", Kind.BOOLEAN, True, HIGH, "Schemas", 0, "Enable Schemas", None),
    ("schemas.cache.size", Kind.INT, 1000, HIGH, "Schemas", 1, "Schema Cache Size", None),
    ("schema.content", TEXT, None, HIGH, "Schemas", 2, "Schema Content", None),
    ("decimal.format", TEXT, "BASE64", LOW, "Serialization", 0, "Decimal Format",
     one_of("NUMERIC", "BASE64", ignore_case=True)),
    ("replace.null.with.default", Kind.BOOLEAN, True, LOW, "Serialization", 1, "Replace null with default",
     None),
)  # fmt: skip
_JSON: Final = _def(
    _TYPE,
    *(ConfigKey(name, kind, default, importance, "", check, group, order, Width.MEDIUM, shown)
      for name, kind, default, importance, group, order, shown, check in _JSON_KEYS),
)  # fmt: skip
_STRING: Final = _def(
    _TYPE,
    ConfigKey("converter.encoding", TEXT, "UTF-8", HIGH, width=Width.MEDIUM, display_name="Encoding"),
)
_URL: Final = ConfigKey("schema.registry.url", LIST, importance=HIGH)
_REGISTRY: Final = _def(
    _TYPE, _URL,
    _key("auto.register.schemas", Kind.BOOLEAN, MEDIUM, True),
    _key("use.latest.version", Kind.BOOLEAN, LOW, False),
)  # fmt: skip


def transform_settings(name: str) -> ConfigDef | None:
    """By the full name of its class."""
    kind = name.rpartition(".")[2].partition("$")[0]
    return (_SIDED | _WHOLE)[kind] if name in TRANSFORM_NAMES else None


def predicate_settings(name: str) -> ConfigDef | None:
    return _PREDICATES[name.rpartition(".")[2]] if name in PREDICATE_NAMES else None


def converter_settings(name: str) -> ConfigDef | None:
    short = name.rpartition(".")[2]
    if name not in (*CONVERTERS, *HEADER_CONVERTERS):
        return None
    if name.startswith("io.confluent."):
        return _REGISTRY
    known = {"JsonConverter": _JSON, "StringConverter": _STRING, "SimpleHeaderConverter": _def()}
    return known.get(short, _def(_TYPE))


def settings_of(name: str) -> ConfigDef | None:
    """Of any plugin that is no connector, by its full name or without its package."""
    for each in (*TRANSFORM_NAMES, *PREDICATE_NAMES, *CONVERTERS, *HEADER_CONVERTERS):
        if name in (each, each.rpartition(".")[2]):
            return transform_settings(each) or predicate_settings(each) or converter_settings(each)
    return None


def embedded(prefix: str, group: str, keys: Sequence[ConfigKey], first: int) -> list[ConfigKey]:
    """Settings under a prefix, in Kafka's order: those that must be given, by importance, by name."""
    ranks = list(Importance)
    ordered = sorted(keys, key=lambda key: (not key.required, ranks.index(key.importance), key.name))
    return [
        replace(
            key, name=prefix + key.name, group=group, order=first + number,
            display_name=key.display_name or key.name, validator=_unprefixed(prefix, key.validator),
        )
        for number, key in enumerate(ordered)
    ]  # fmt: skip


def _unprefixed(prefix: str, validator: Validator | None) -> Validator | None:
    """A validator speaks of the setting as its class knows it."""
    if validator is None:
        return None
    return lambda name, value: validator(name.removeprefix(prefix), value)
