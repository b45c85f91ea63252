"""Settings of a connector, as Kafka's `ConfigDef` describes them: type, default, validator, and where a
console shows them. `validate` reports every mistake at once; `parse` gives typed values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, NamedTuple

from penstock.connect.errors import ConfigError
from penstock.connect.transforms.settings import MissingSetting

HIDDEN: Final = "[hidden]"
"""What is shown in place of a password."""

Validator = Callable[[str, Any], None]
"""Raises ConfigError for a value that is not allowed."""


class Kind(Enum):
    """Types of settings, under Kafka's names."""

    STRING = "STRING"
    INT = "INT"
    LONG = "LONG"
    SHORT = "SHORT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(Enum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class _NoDefault(Enum):
    NO_DEFAULT = "no default"


NO_DEFAULT: Final = _NoDefault.NO_DEFAULT
_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


@dataclass(frozen=True)
class ConfigKey:
    """One setting."""

    name: str
    kind: Kind
    default: Any = NO_DEFAULT
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    recommended: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.default is NO_DEFAULT

    def parse(self, given: Mapping[str, Any]) -> Any:
        if given.get(self.name) is None:
            if self.required:
                raise MissingSetting(self.name)
            return self.default
        value = parse_value(self.name, self.kind, given[self.name])
        if self.validator is not None:
            self.validator(self.name, value)
        return value

    def definition(self) -> dict[str, Any]:
        """As the REST API describes it."""
        return {
            "name": self.name,
            "type": self.kind.value,
            "required": self.required,
            "default_value": None if self.required else self.text(self.default),
            "importance": self.importance.value,
            "documentation": self.doc,
            "group": self.group,
            "order_in_group": self.order,
            "width": self.width.value,
            "display_name": self.display_name or self.name,
            "dependents": list(self.dependents),
        }

    def text(self, value: Any) -> str | None:
        if value is None:
            return None
        if self.kind is Kind.PASSWORD:
            return HIDDEN
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (list, tuple)):
            return ",".join(map(str, value))
        return str(value)


class ConfigValue(NamedTuple):
    """A setting with what was given for it."""

    key: ConfigKey
    value: Any
    errors: list[str]
    visible: bool = True

    def shown(self) -> dict[str, Any]:
        return {
            "definition": self.key.definition(),
            "value": {
                "name": self.key.name,
                "value": self.key.text(self.value),
                "recommended_values": list(self.key.recommended),
                "errors": list(self.errors),
                "visible": self.visible,
            },
        }


@dataclass(frozen=True)
class ConfigDef:
    """Immutable; `define` returns one more setting."""

    keys: tuple[ConfigKey, ...] = ()
    groups: tuple[str, ...] = field(default=())

    def define(self, name: str, kind: Kind, default: Any = NO_DEFAULT, **more: Any) -> ConfigDef:
        return self.plus([ConfigKey(name, kind, default, **more)])

    def plus(self, keys: Iterable[ConfigKey]) -> ConfigDef:
        """With further settings; one of the same name takes the place of the earlier one."""
        added = {key.name: key for key in keys}
        kept = [added.pop(key.name, key) for key in self.keys]
        return replace(self, keys=(*kept, *added.values()))

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self.keys)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(key.name for key in self.keys)

    @property
    def secret(self) -> frozenset[str]:
        return frozenset(key.name for key in self.keys if key.kind is Kind.PASSWORD)

    def group_names(self) -> list[str]:
        return list(dict.fromkeys(key.group for key in self.keys if key.group is not None))

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Typed values of all settings; the first mistake raises ConfigError."""
        return {key.name: key.parse(given) for key in self.keys}

    def validate(self, given: Mapping[str, Any]) -> list[ConfigValue]:
        return [_validated(key, given) for key in self.keys]


def _validated(key: ConfigKey, given: Mapping[str, Any]) -> ConfigValue:
    """As in Kafka, a value that cannot be read is none, and the validator is asked about that, too."""
    value, errors = None, []
    if given.get(key.name) is not None:
        try:
            value = parse_value(key.name, key.kind, given[key.name])
        except ConfigError as error:
            errors.append(str(error))
    elif key.required:
        errors.append(str(MissingSetting(key.name)))
    else:
        return ConfigValue(key, key.default, [])
    if key.validator is not None:
        try:
            key.validator(key.name, value)
        except ConfigError as error:
            errors.append(str(error))
    return ConfigValue(key, value, errors)


def parse_value(name: str, kind: Kind, value: Any) -> Any:
    """A value of text as its type, with Kafka's words for what is wrong."""
    text = str(value).strip() if not isinstance(value, (list, tuple)) else value
    if kind in _BITS:
        return _whole(name, kind, value)
    if kind is Kind.DOUBLE:
        try:
            return float(str(text))
        except ValueError:
            raise ConfigError(name, value, "Not a number of type DOUBLE") from None
    if kind is Kind.BOOLEAN:
        if str(text).lower() not in ("true", "false"):
            raise ConfigError(name, value, "Expected value to be either true or false")
        return str(text).lower() == "true"
    if kind is Kind.LIST:
        if isinstance(text, (list, tuple)):
            return [str(each) for each in text]
        return [each.strip() for each in text.split(",")] if text else []
    return str(text)


def _whole(name: str, kind: Kind, value: Any) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        raise ConfigError(name, value, f"Not a number of type {kind.value}") from None
    if not -(1 << _BITS[kind] - 1) <= number < 1 << _BITS[kind] - 1:
        raise ConfigError(name, value, f"Not a number of type {kind.value}")
    return number


def at_least(least: int) -> Validator:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, value, "Value must be non-null")
        if value < least:
            raise ConfigError(name, value, f"Value must be at least {least}")

    return check


def one_of(*allowed: str, ignore_case: bool = False) -> Validator:
    def check(name: str, value: Any) -> None:
        found = str(value).upper() if ignore_case else value
        if found not in ([each.upper() for each in allowed] if ignore_case else allowed):
            kind = "String must be one of (case insensitive)" if ignore_case else "String must be one of"
            raise ConfigError(name, value, f"{kind}: {', '.join(allowed)}")

    return check


def list_text(values: Iterable[str]) -> str:
    """A list as Kafka's messages show it."""
    return f"[{', '.join(values)}]"


def non_empty(name: str, value: Any) -> None:
    if isinstance(value, str) and not value.strip():
        raise ConfigError(name, value, "String must be non-empty")
