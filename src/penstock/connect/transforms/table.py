"""Transforms and predicates by their class names, in full or short, as a connector's configuration names
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from penstock.connect.errors import ConfigError
from penstock.connect.transforms.casting import Cast
from penstock.connect.transforms.fields import ExtractField, HoistField, MaskField, ReplaceField, ValueToKey
from penstock.connect.transforms.flattening import Flatten
from penstock.connect.transforms.headers import DropHeaders, HeaderFrom, InsertHeader
from penstock.connect.transforms.inserting import InsertField
from penstock.connect.transforms.predicates import (
    HasHeaderKey,
    Predicate,
    RecordIsTombstone,
    TopicNameMatches,
)
from penstock.connect.transforms.routing import Filter, RegexRouter, TimestampRouter
from penstock.connect.transforms.schema_metadata import SetSchemaMetadata
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.timestamps import TimestampConverter
from penstock.connect.transforms.transform import Side, Transform

PACKAGE: Final = "org.apache.kafka.connect.transforms."
Make = Callable[[Side, Settings], Any]

SIDED: Final[dict[str, Make]] = {
    each.__name__: each
    for each in (
        Cast,
        ExtractField,
        Flatten,
        HeaderFrom,
        HoistField,
        InsertField,
        MaskField,
        ReplaceField,
        SetSchemaMetadata,
        TimestampConverter,
    )
}
"""Named `…$Key` or `…$Value`."""

WHOLE: Final[dict[str, Make]] = {
    each.__name__: each
    for each in (DropHeaders, Filter, InsertHeader, RegexRouter, TimestampRouter, ValueToKey)
}
PREDICATES: Final[dict[str, Callable[[Settings], Predicate]]] = {
    each.__name__: each for each in (HasHeaderKey, RecordIsTombstone, TopicNameMatches)
}


def transform(setting: str, name: str, settings: Settings) -> Transform:
    short = name.removeprefix(PACKAGE)
    kind, separator, side = short.partition("$")
    if separator and kind in SIDED and side in ("Key", "Value"):
        return cast("Transform", SIDED[kind](Side(side), settings))
    if not separator and kind in WHOLE:
        return cast("Transform", WHOLE[kind](Side.VALUE, settings))
    if kind in SIDED:
        raise ConfigError(setting, name, f"{kind} is for one side of a record: {kind}$Key or {kind}$Value.")
    known = ", ".join(sorted([*WHOLE, *(f"{each}$Key, {each}$Value" for each in SIDED)]))
    raise ConfigError(setting, name, f"Class {name} could not be found. Transforms are {known}.")


def predicate(setting: str, name: str, settings: Settings) -> Predicate:
    short = name.removeprefix(PACKAGE + "predicates.")
    if short not in PREDICATES:
        raise ConfigError(
            setting, name, f"Class {name} could not be found. Predicates are {', '.join(PREDICATES)}."
        )
    return PREDICATES[short](settings)


TRANSFORM_NAMES: Final = tuple(
    sorted(
        PACKAGE + each
        for each in (*WHOLE, *(f"{kind}${side}" for kind in SIDED for side in ("Key", "Value")))
    )
)
PREDICATE_NAMES: Final = tuple(sorted(f"{PACKAGE}predicates.{each}" for each in PREDICATES))
