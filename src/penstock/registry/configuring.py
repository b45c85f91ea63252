"""Changing settings and modes of the registry, a context or a subject. A scope is the key of its settings."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.registry import errors, records
from penstock.registry.decisions import Decision
from penstock.registry.records import ConfigValue, Key, ModeValue, Record
from penstock.registry.requests import ConfigAnswer, ConfigRequest, ModeBody
from penstock.registry.state import GLOBAL, State
from penstock.registry.subjects import DEFAULT, Subject, parse_subject
from penstock.schemas.levels import Level

MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
_NOT_SUPPORTED: Final = ("alias_for_deks",)
_POLICIES: Final = ("STRICT",)


def decide_config(state: State, scope: str, request: ConfigRequest) -> Decision:
    """What the request leaves out stays as it is."""
    for name in _NOT_SUPPORTED:
        if getattr(request, name):
            raise errors.not_supported(name)
    if request.compatibility_policy not in (None, *_POLICIES):
        raise errors.not_supported(f"compatibilityPolicy {request.compatibility_policy}")
    level = request.compatibility.upper() if request.compatibility is not None else None
    if level is not None and level not in Level.__members__:
        raise errors.invalid_level(request.compatibility)
    given = {name: getattr(request, name, None) for name in ConfigValue.__struct_fields__}
    given["compatibility_level"] = level
    old = state.configs.get(scope, ConfigValue())
    changed = {name: each for name, each in given.items() if each is not None}
    record = Record(Key(records.CONFIG, scope or None), msgspec.structs.replace(old, **changed))
    return Decision((record,), msgspec.structs.replace(request, compatibility=level))


def decide_delete_config(state: State, scope: str) -> Decision:
    old = state.configs.get(scope)
    if old is None and scope != GLOBAL:
        raise errors.no_subject_config(scope)
    answer = config_answer(old or ConfigValue(), state.default_level)
    return Decision((Record(Key(records.CONFIG, scope or None), None),) if old else (), answer)


def config_answer(value: ConfigValue, level: str | None) -> ConfigAnswer:
    """`level` is the one that holds when the settings have none of their own."""
    given = {name: getattr(value, name) for name in ConfigValue.__struct_fields__}
    return ConfigAnswer(**{**given, "compatibility_level": value.compatibility_level or level})


def decide_mode(
    state: State, scope: str, subject: Subject | None, mode: str | None, *, force: bool
) -> Decision:
    """No mode takes the scope's own away."""
    if mode is None:
        gone = (Record(Key(records.MODE, scope or None), None),) if scope in state.modes else ()
        return Decision(gone, ModeBody(None))
    if mode not in MODES:
        raise errors.invalid_mode(mode)
    if mode == "IMPORT" and not force and _has_schemas(state, subject):
        raise errors.not_permitted(
            "Cannot import since found existing subjects. Set force=true to do it anyway"
        )
    return Decision((Record(Key(records.MODE, scope or None), ModeValue(mode)),), ModeBody(mode))


def decide_delete_mode(
    state: State, scope: str, subject: Subject | None, *, recursive: bool = False
) -> Decision:
    """`recursive` takes the modes of the subjects inside away, too: of a context, or of the default one."""
    inside = [key for key in state.modes if recursive and _is_inside(key, subject)]
    old = state.modes.get(scope)
    if old is None and scope != GLOBAL and not inside:
        raise errors.no_subject_mode(scope)
    gone = sorted({*inside, *((scope,) if old else ())})
    tombstones = tuple(Record(Key(records.MODE, key or None), None) for key in gone)
    return Decision(tombstones, ModeBody(old if old or recursive else "READWRITE"))


def _is_inside(key: str, subject: Subject | None) -> bool:
    found = parse_subject(key)
    if subject is None:
        return found.context == DEFAULT
    return not subject.name and found.context == subject.context and key != GLOBAL


def _has_schemas(state: State, subject: Subject | None) -> bool:
    if subject is None:
        return any(state.versions(Subject(context, name)) for context, each in state.contexts.items()
                   for name in each.subjects)  # fmt: skip
    if subject.name:
        return bool(state.versions(subject))
    return bool(state.context(subject.context).subjects)
