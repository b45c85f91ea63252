"""Exporters: what is copied to another registry, and under which names. Pure; `export_runner` copies.

An exporter has its settings and a state. STARTING and RUNNING ones copy; PAUSED ones do not. Of several
registries on one cluster one copies: the owner, which renews its claim as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from penstock.registry import errors, records
from penstock.registry.decisions import Decision
from penstock.registry.records import ExporterStateValue, ExporterValue, Key, Record, SchemaValue
from penstock.registry.requests import ExporterRequest, NameAnswer
from penstock.registry.state import State, target_of
from penstock.registry.subjects import DEFAULT, WILDCARD, Subject, parse_subject
from penstock.settings.secret_files import is_secret

CONTEXT_TYPES: Final = ("AUTO", "CUSTOM", "NONE", "DEFAULT")
EXPORTERS_MAX: Final = 100
URL: Final = "schema.registry.url"
LEASE_MS: Final = 15_000
"""How long a claim holds that its owner does not renew."""
STARTING, RUNNING, PAUSED = "STARTING", "RUNNING", "PAUSED"
_PLACE: Final = "${subject}"


class Copy(NamedTuple):
    """A version as the other registry is to have it."""

    subject: Subject
    """Where it goes."""
    body: dict[str, Any]
    deleted: bool


def decide_create(state: State, request: ExporterRequest, now_ms: int) -> Decision:
    name = request.name or ""
    if not name or len(name) > 255 or not all(each.isalnum() or each in "-_." for each in name):
        raise errors.invalid_exporter("name", 40950, "It takes letters, digits, '-', '_' and '.'.")
    if name in state.exporters:
        raise errors.exporter_exists(name)
    if len(state.exporters) >= EXPORTERS_MAX:
        raise errors.too_many_exporters(EXPORTERS_MAX)
    value = _changed(ExporterValue(name), request)
    step = ExporterStateValue(STARTING, ts=now_ms)
    found = Record(_key(name), value), Record(_state_key(name), step)
    return Decision(found, NameAnswer(name))


def decide_update(state: State, name: str, request: ExporterRequest) -> Decision:
    """What the request leaves out stays as it is. Only a paused exporter is changed."""
    value = find_exporter(state, name)
    _check_paused(state, name)
    return Decision((Record(_key(name), _changed(value, request)),), NameAnswer(name))


def decide_step(state: State, name: str, step: str, now_ms: int) -> Decision:
    """`pause`, `resume` or `reset`. A reset copies everything again once the exporter is resumed."""
    find_exporter(state, name)
    old = state.exporter_states.get(name, ExporterStateValue(PAUSED))
    if step == "reset":
        _check_paused(state, name)
        new = ExporterStateValue(PAUSED, ts=now_ms, epoch=old.epoch + 1)
    elif step == "pause":
        new = msgspec.structs.replace(old, state=PAUSED, ts=now_ms, owner="", trace="")
    else:
        new = old if old.state != PAUSED else msgspec.structs.replace(old, state=STARTING, ts=now_ms)
    return Decision((Record(_state_key(name), new),) if new != old else (), NameAnswer(name))


def decide_delete(state: State, name: str) -> Decision:
    find_exporter(state, name)
    gone = Record(_key(name), None), Record(_state_key(name), None)
    return Decision(gone, None)


def decide_claim(state: State, name: str, owner: str, now_ms: int) -> Decision:
    """True when this process copies; the claim is renewed when a third of it is over."""
    step = state.exporter_states.get(name)
    if name not in state.exporters or step is None or step.state == PAUSED:
        return Decision((), False)
    age = now_ms - step.ts
    if step.owner not in ("", owner) and age < LEASE_MS:
        return Decision((), False)
    if step.owner == owner and age < LEASE_MS // 3:
        return Decision((), True)
    claimed = msgspec.structs.replace(step, owner=owner, ts=now_ms)
    return Decision((Record(_state_key(name), claimed),), True)


def decide_progress(
    state: State, name: str, owner: str, *, offset: int | None, trace: str, now_ms: int
) -> Decision:
    """What an owner has done. An exporter that was paused or taken over meanwhile stays as it is."""
    step = state.exporter_states.get(name)
    if step is None or step.owner != owner or step.state == PAUSED:
        return Decision((), None)
    reached = step.offset if offset is None else offset
    new = msgspec.structs.replace(step, state=RUNNING, offset=reached, trace=trace[:1000], ts=now_ms)
    told = (new.state, new.offset, new.trace)
    same = told == (step.state, step.offset, step.trace)
    return Decision(() if same else (Record(_state_key(name), new),), None)


def find_exporter(state: State, name: str) -> ExporterValue:
    found = state.exporters.get(name)
    if found is None:
        raise errors.exporter_not_found(name)
    return found


def copies(state: State, exporter: ExporterValue, source: str) -> Iterator[Copy]:
    """Every version that the exporter copies, in the order of ids: what is referred to comes first.

    `source` is the name of this registry, which contexts of the type AUTO begin with.
    """
    found = [
        (value.id, value.version, Subject(context, name), value)
        for context, each in state.contexts.items()
        for name, versions in each.subjects.items()
        if is_wanted(exporter, Subject(context, name))
        for value in versions.values()
    ]
    for _, _, subject, value in sorted(found, key=lambda each: each[:3]):
        yield Copy(
            destination(exporter, subject, source), _body(exporter, subject, value, source), value.deleted
        )


def is_wanted(exporter: ExporterValue, subject: Subject) -> bool:
    """Whether one of the exporter's patterns means a subject. `*` is any end, `:*:` any context."""
    for pattern in exporter.subjects:
        if pattern.startswith(WILDCARD):
            context, name = subject.context, pattern.removeprefix(WILDCARD)
        else:
            context, name = parse_subject(pattern)
        same = subject.name.startswith(name[:-1]) if name.endswith("*") else subject.name == name
        if context == subject.context and (same or not name):
            return True
    return False


def destination(exporter: ExporterValue, subject: Subject, source: str) -> Subject:
    """The name that a subject has in the other registry."""
    name = exporter.subject_rename_format.replace(_PLACE, subject.name)
    if exporter.context_type == "DEFAULT":
        return Subject(DEFAULT, name)
    if exporter.context_type == "NONE":
        return Subject(subject.context, name)
    first = exporter.context if exporter.context_type == "CUSTOM" else source
    first = first if first.startswith(".") else f".{first}"
    return Subject(first if subject.context == DEFAULT else first + subject.context, name)


def shown_config(config: dict[str, str]) -> dict[str, str]:
    """Settings without secrets."""
    return {name: "[hidden]" if is_secret(name) else value for name, value in config.items()}


def _body(exporter: ExporterValue, subject: Subject, value: SchemaValue, source: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "schema": value.schema,
        "schemaType": value.schema_type,
        "id": value.id,
        "version": value.version,
    }
    if value.references:
        body["references"] = [
            {
                "name": each.name,
                "subject": str(destination(exporter, target_of(subject, each), source)),
                "version": each.version,
            }
            for each in value.references
        ]
    if value.metadata:
        body["metadata"] = value.metadata
    if value.rule_set:
        body["ruleSet"] = value.rule_set
    return body


def _changed(old: ExporterValue, request: ExporterRequest) -> ExporterValue:
    given = {
        name: each
        for name in ("context", "subject_rename_format", "config")
        if (each := getattr(request, name)) is not None
    }
    if request.context_type is not None:
        given["context_type"] = request.context_type.upper()
    if request.subjects is not None:
        given["subjects"] = tuple(request.subjects)
    value = msgspec.structs.replace(old, **given)
    _check(value)
    return value


def _check(value: ExporterValue) -> None:
    if not value.subjects or not all(value.subjects):
        raise errors.invalid_exporter("subjects", 40952, "It takes at least one name or pattern.")
    if value.context_type not in CONTEXT_TYPES:
        raise errors.invalid_exporter("contextType", 40951, f"It is one of {', '.join(CONTEXT_TYPES)}.")
    if value.context_type == "CUSTOM" and not value.context.strip("."):
        raise errors.invalid_exporter("context", 40951, "The type CUSTOM needs a name of a context.")
    if _PLACE not in value.subject_rename_format:
        raise errors.invalid_exporter("subjectRenameFormat", 40951, f"It must contain {_PLACE}.")
    if not value.config.get(URL, "").startswith(("http://", "https://")):
        raise errors.invalid_exporter("config", 40951, f"{URL} must be an address such as http://host:8081.")


def _check_paused(state: State, name: str) -> None:
    step = state.exporter_states.get(name)
    if step is not None and step.state != PAUSED:
        raise errors.exporter_not_paused(name)


def _key(name: str) -> Key:
    return Key(records.EXPORTER, name=name)


def _state_key(name: str) -> Key:
    return Key(records.EXPORTER_STATE, name=name)
