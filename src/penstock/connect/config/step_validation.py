"""Transforms and predicates of a configuration checked: their classes, and the settings of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from penstock.connect.api.config_def import ConfigDef, ConfigKey, ConfigValue, Importance, Kind, Width
from penstock.connect.config.plugin_settings import embedded, predicate_settings, transform_settings
from penstock.connect.errors import ConfigError
from penstock.connect.transforms.chain import TransformChain
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.table import PREDICATE_NAMES, TRANSFORM_NAMES, predicate

_PREDICATED = (
    ConfigKey("negate", Kind.BOOLEAN, False),
    ConfigKey("predicate", Kind.STRING, None),
)


def step_values(config: Mapping[str, str], version: str) -> Iterator[ConfigValue]:
    """Every setting of the transforms and predicates, in Kafka's order."""
    for alias in _aliases(config, "transforms"):
        prefix, group = f"transforms.{alias}.", f"Transforms: {alias}"
        kind = _type(config, prefix, group, f"Transformation type for {alias}", TRANSFORM_NAMES)
        keys = None if kind.value is None else transform_settings(kind.value)
        more = () if keys is None else (*keys, *_PREDICATED)
        values = _step(config, kind, prefix, group, more, f"Transformation version for {alias}", version)
        _try(values, prefix, lambda alias=alias: _make_transform(config, alias))  # type: ignore[misc]
        yield from values
    for alias in _aliases(config, "predicates"):
        prefix, group = f"predicates.{alias}.", f"Predicates: {alias}"
        kind = _type(config, prefix, group, f"Predicate type for {alias}", PREDICATE_NAMES)
        keys = None if kind.value is None else predicate_settings(kind.value)
        values = _step(
            config, kind, prefix, group, tuple(keys or ()), f"Predicate version for {alias}", version
        )
        _try(values, prefix, lambda prefix=prefix: _make_predicate(config, prefix))  # type: ignore[misc]
        yield from values


def _aliases(config: Mapping[str, str], setting: str) -> list[str]:
    return list(dict.fromkeys(Settings(config).texts(setting)))


def _step(
    config: Mapping[str, str],
    kind: ConfigValue,
    prefix: str,
    group: str,
    keys: Sequence[ConfigKey],
    shown: str,
    version: str,
) -> list[ConfigValue]:
    known = None if kind.value is None else version
    versioned = ConfigKey(
        f"{prefix}plugin.version", Kind.STRING, known, Importance.HIGH, "Its version.", group=group, order=1,
        width=Width.LONG, display_name=shown, recommended=() if known is None else (known,),
    )  # fmt: skip
    return [kind, *ConfigDef((versioned, *embedded(prefix, group, keys, first=2))).validate(config)]


def _type(
    config: Mapping[str, str], prefix: str, group: str, shown: str, known: tuple[str, ...]
) -> ConfigValue:
    key = ConfigKey(
        f"{prefix}type", Kind.CLASS, importance=Importance.HIGH, group=group, order=0, width=Width.LONG,
        display_name=shown, recommended=known,
    )  # fmt: skip
    given = config.get(key.name)
    if given is None:
        return ConfigDef((key,)).validate(config)[0]
    full = [each for each in known if given in (each, each.rpartition(".")[2])]
    if full:
        return ConfigValue(key, full[0], [])
    return ConfigValue(key, None, [str(ConfigError(key.name, given, f"Class {given} could not be found."))])


def _try(values: list[ConfigValue], prefix: str, make: Callable[[], object]) -> None:
    """What only making it shows, such as types that Cast does not know: Kafka fails at the start then."""
    if any(value.errors for value in values):
        return
    try:
        make()
    except ConfigError as error:
        named = [value for value in values if value.key.name in (error.name, prefix + error.name)]
        (named or values)[0].errors.append(str(error))


def _make_transform(config: Mapping[str, str], alias: str) -> None:
    own = (f"transforms.{alias}.", "predicates")
    wanted = {name: value for name, value in config.items() if name.startswith(own)}
    broken = any(f"predicates.{each}.type" not in config for each in _aliases(config, "predicates"))
    if not broken:
        TransformChain.of({"transforms": alias, **wanted})


def _make_predicate(config: Mapping[str, str], prefix: str) -> None:
    own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    predicate(f"{prefix}type", own["type"], Settings(own))
