"""A connector's configuration checked: every setting with its value and all that is wrong with it.

The answer has the form of Kafka's `ConfigInfos`. Nothing is started and nothing is connected to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.connect.api.config_def import ConfigDef, ConfigKey, ConfigValue, Kind, list_text
from penstock.connect.config import shared_settings as c
from penstock.connect.config.plugin_settings import converter_settings
from penstock.connect.config.step_validation import step_values
from penstock.connect.converters.table import (
    CONVERTERS,
    HEADER_CONVERTERS,
    converter,
    full_name,
    header_converter,
)
from penstock.connect.errors import ConfigError
from penstock.connect.plugins import Plugin
from penstock.connect.transforms.java_regex import compiled

EITHER = "Must configure one of topics or topics.regex"
BOTH = "topics and topics.regex are mutually exclusive options, but both are set."


NO_BOUNDARIES = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. "
    "Please reconfigure it to use a different transaction boundary definition."
)


class Defaults(NamedTuple):
    """What a worker gives connectors that do not say otherwise."""

    key_converter: str
    value_converter: str
    header_converter: str
    settings: Mapping[str, str] = {}
    """The worker's own settings, for those of its converters."""


class Validated(NamedTuple):
    name: str
    values: list[ConfigValue]
    groups: list[str]

    @property
    def errors(self) -> list[str]:
        return [error for value in self.values for error in value.errors]

    def shown(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "error_count": len(self.errors),
            "groups": self.groups,
            "configs": [value.shown() for value in self.values],
        }


def definition(plugin: Plugin, defaults: Defaults | None = None) -> ConfigDef:
    """All settings of a connector: the common ones, then its own. Without a worker's defaults there are no
    converters."""
    kind = c.SOURCE if plugin.kind == "source" else (*c.SINK, *c.DEAD_LETTER_KEYS)
    converters = (None, None, None) if defaults is None else defaults[:3]
    return c.common(plugin.version, *converters).plus(kind).plus(plugin.connector.CONFIG)


def validate(plugin: Plugin, config: Mapping[str, str], defaults: Defaults) -> Validated:
    described = definition(plugin, defaults)
    own = plugin.connector.CONFIG.names
    values = {value.key.name: value for value in described.validate(config)}
    last = {name: values.pop(name) for name in own if name in values}
    for value in step_values(config, plugin.version):
        values[value.key.name] = value
    values |= {key.name: last[key.name] for key in plugin.connector.CONFIG if key.name in last}
    for side in ("key", "value", "header"):
        _converter(side, config, defaults, values)
    groups = ConfigDef(tuple(value.key for value in values.values())).group_names()
    for name, error in (*_cross(plugin, config), *plugin.connector.check(config)):
        if name not in values:
            values[name] = ConfigValue(ConfigKey(name, Kind.STRING, None), config.get(name), [])
        values[name].errors.append(error)
    return Validated(str(config.get("connector.class") or plugin.name), list(values.values()), groups)


def _cross(plugin: Plugin, config: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    if plugin.kind == "sink":
        yield from _topics(config)
    elif _wants_own_boundaries(config) and not getattr(plugin.connector, "DEFINES_TRANSACTIONS", False):
        yield "transaction.boundary", NO_BOUNDARIES
    for key in c.PENSTOCK:
        try:
            key.parse(config)
        except ConfigError as error:
            yield key.name, str(error)


def _wants_own_boundaries(config: Mapping[str, str]) -> bool:
    return str(config.get("transaction.boundary", "poll")).lower() == "connector"


def _topics(config: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    given, pattern = config.get("topics") or "", config.get("topics.regex") or ""
    topics = [each.strip() for each in given.split(",") if each.strip()]
    error = BOTH if topics and pattern.strip() else ""
    if not topics and not pattern.strip():
        error = EITHER
    if error:
        yield "topics", error
        yield "topics.regex", error
    elif pattern:
        try:
            compiled("topics.regex", pattern)
        except ConfigError as wrong:
            yield "topics.regex", str(wrong)
    dead = config.get(c.DEAD_LETTERS)
    if dead and dead in topics:
        yield (
            "topics",
            (
                f"The DLQ topic '{dead}' may not be included in the list of topics "
                f"('topics={list_text(topics)}') consumed by the connector"
            ),
        )


def _converter(
    side: str, config: Mapping[str, str], defaults: Defaults, values: dict[str, ConfigValue]
) -> None:
    """Adds the settings of a converter that the connector brings itself, and what is wrong with it."""
    setting = f"{side}.converter"
    given = config.get(setting)
    if given is None:
        return
    name = full_name(given, HEADER_CONVERTERS if side == "header" else CONVERTERS)
    version = f"{setting}.plugin.version"
    if name is None:
        values[setting] = _no_class(values[setting], side, given)
        visible = values[setting].value is not None
        values[version] = ConfigValue(c.without_default(values[version].key), None, [], visible=visible)
        return
    values[setting] = values[setting]._replace(value=name)
    found = _converter_values(side, name, config)
    if not any(value.errors for value in found):
        try:
            make_converter(side, config, defaults)
        except ConfigError as error:
            values[setting].errors.append(str(error))
    values |= {value.key.name: value for value in found}


def _no_class(value: ConfigValue, side: str, given: str) -> ConfigValue:
    other = full_name(given, CONVERTERS if side == "header" else HEADER_CONVERTERS)
    if other is not None:
        interface = "HeaderConverter" if side == "header" else "Converter"
        return value._replace(
            value=other, errors=[f"Class class {other} does not implement the {interface} interface"]
        )
    return value._replace(
        value=None,
        errors=[str(ConfigError(f"{side}.converter", given, f"Class {given} could not be found."))],
    )


def _converter_values(side: str, name: str, config: Mapping[str, str]) -> list[ConfigValue]:
    """As in Kafka, what is wrong with a converter's setting names it as the converter knows it."""
    prefix = f"{side}.converter."
    own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    described = converter_settings(name) or ConfigDef()
    found = described.validate({"converter.type": side, **own})
    return [value._replace(key=c.renamed(value.key, prefix + value.key.name)) for value in found]


def make_converter(side: str, config: Mapping[str, str], defaults: Defaults) -> Any:
    """The converter of one side: the connector's own, or else the worker's with the worker's settings."""
    setting = f"{side}.converter"
    given = config if config.get(setting) else defaults.settings
    name = config.get(setting) or getattr(defaults, f"{side}_converter")
    prefix = f"{setting}."
    settings = {
        key.removeprefix(prefix): value
        for key, value in given.items()
        if key.startswith(prefix) and key != f"{prefix}plugin.version"
    }
    if side == "header":
        return header_converter(setting, name, settings)
    return converter(setting, name, settings, is_key=side == "key")
