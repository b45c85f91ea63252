"""Associations: which subject the keys and the values of a topic have, whatever the subject's name.

A topic is known by an id of its own. It has at most one association of each kind, `key` and `value`. A STRONG
one owns its subject: no other topic may have it, and the subject may be deleted with the association. A
request may bring schemas, which are registered in the same decision.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from penstock.registry import errors, records
from penstock.registry.decisions import Decision
from penstock.registry.deleting import decide_delete_subject
from penstock.registry.lookups import schema_answer
from penstock.registry.records import AssociationValue, Key, Record
from penstock.registry.requests import (
    AssociationAnswer,
    AssociationInfo,
    AssociationNew,
    AssociationRequest,
    AssociationsAnswer,
    SchemaAnswer,
)
from penstock.registry.state import State
from penstock.registry.subjects import DEFAULT, Subject, parse_named, parse_subject
from penstock.registry.tagging import decide_register_tagged

KINDS: Final = ("key", "value")
RESOURCE_TYPES: Final = ("topic",)
LIFECYCLES: Final = ("STRONG", "WEAK")
ANY_NAMESPACE: Final = "-"


def decide_associate(
    state: State, request: AssociationRequest, *, context: str = "", update: bool, dry_run: bool = False
) -> Decision:
    """Makes every association of a request, or none. `update` changes those that are there already."""
    _check_resource(request)
    found: list[Record] = []
    told: list[AssociationInfo] = []
    for new in request.associations or ():
        made, info = _one(state, request, new, context, update=update)
        for record in made:
            state = state.replay(record)
        found += made
        told.append(info)
    answer = AssociationsAnswer(
        request.resource_name,
        request.resource_namespace,
        request.resource_id,
        request.resource_type or RESOURCE_TYPES[0],
        told,
    )
    return Decision(() if dry_run else tuple(found), answer)


def decide_dissociate(
    state: State,
    resource: str,
    kinds: Iterable[str],
    *,
    resource_type: str = "",
    cascade: bool,
    dry_run: bool = False,
) -> Decision:
    """Takes associations away; `cascade` deletes the subjects that belong to the resource, too."""
    wanted = tuple(kinds) or KINDS
    there = [
        value
        for value in of_resource(state, resource)
        if value.association_type in wanted and resource_type in ("", value.resource_type)
    ]
    if not there:
        raise errors.association_not_found(resource)
    found: list[Record] = []
    for value in there:
        if value.frozen and not cascade:
            raise errors.association_frozen(value.resource_name, value.association_type)
        found.append(Record(_key(value), None))
        subject = parse_subject(value.subject)
        if cascade and value.lifecycle == "STRONG" and state.versions(subject):
            found += decide_delete_subject(state, subject, permanent=False).records
    return Decision(() if dry_run else tuple(found), None)


def of_resource(state: State, resource: str) -> list[AssociationValue]:
    return [value for kind in KINDS if (value := state.associations.get((resource, kind))) is not None]


def of_name(state: State, namespace: str, name: str) -> list[AssociationValue]:
    found = (value for value in state.associations.values() if value.resource_name == name)
    return _ordered(value for value in found if namespace in (ANY_NAMESPACE, value.resource_namespace))


def of_subject(state: State, subject: str) -> list[AssociationValue]:
    return _ordered(value for value in state.associations.values() if value.subject == subject)


def association_answer(value: AssociationValue) -> AssociationAnswer:
    given = {name: getattr(value, name) for name in value.__struct_fields__}
    told = f"{value.resource_id}\n{value.association_type}".encode()
    guid = uuid.UUID(bytes=hashlib.md5(told, usedforsecurity=False).digest())
    return AssociationAnswer(**given, guid=str(guid))


def _ordered(found: Iterable[AssociationValue]) -> list[AssociationValue]:
    return sorted(found, key=lambda each: (each.resource_namespace, each.resource_id, each.association_type))


def _one(
    state: State, request: AssociationRequest, new: AssociationNew, context: str, *, update: bool
) -> tuple[list[Record], AssociationInfo]:
    kind = new.association_type or "value"
    if kind not in KINDS:
        raise errors.invalid_association("associationType", kind, KINDS)
    if new.lifecycle not in (None, *LIFECYCLES):
        raise errors.invalid_association("lifecycle", new.lifecycle, LIFECYCLES)
    old = state.associations.get((request.resource_id, kind))
    value = _wanted(request, new, kind, old, context)
    if old is not None and not _same(old, value):
        if not update:
            raise errors.association_exists(value.resource_name, kind)
        if old.frozen:
            raise errors.association_frozen(value.resource_name, kind)
    subject = parse_named(value.subject)
    _check_owner(state, value)
    made, schema = _registered(state, subject, new)
    if not made and not state.versions(subject):
        raise errors.invalid_association("subject", value.subject, ("a subject with a schema",))
    if old is None or not _same(old, value):
        made = [*made, Record(_key(value), value)]
    return made, AssociationInfo(value.subject, kind, value.lifecycle, value.frozen, schema)


def _wanted(
    request: AssociationRequest,
    new: AssociationNew,
    kind: str,
    old: AssociationValue | None,
    context: str,
) -> AssociationValue:
    """What the request leaves out is as it was; a new subject is named after its topic."""
    name = new.subject or (old.subject if old else f"{request.resource_name}-{kind}")
    subject = parse_subject(name)
    if context and subject.context == DEFAULT:
        subject = Subject(context if context.startswith(".") else f".{context}", subject.name)
    lifecycle = new.lifecycle or (old.lifecycle if old else "WEAK")
    frozen = new.frozen if new.frozen is not None else bool(old and old.frozen)
    if frozen and lifecycle != "STRONG":
        raise errors.invalid_association("lifecycle", lifecycle, ("STRONG for a frozen association",))
    return AssociationValue(
        str(subject),
        request.resource_name,
        request.resource_namespace,
        request.resource_id,
        kind,
        request.resource_type or RESOURCE_TYPES[0],
        lifecycle,
        frozen,
        old.create_ts if old else None,
    )


def _same(one: AssociationValue, other: AssociationValue) -> bool:
    bare = (msgspec.structs.replace(each, create_ts=None, update_ts=None) for each in (one, other))
    return next(bare) == next(bare)


def _check_owner(state: State, value: AssociationValue) -> None:
    """A subject that belongs to one resource has no other."""
    others = [
        each
        for each in of_subject(state, value.subject)
        if (each.resource_id, each.association_type) != (value.resource_id, value.association_type)
    ]
    if others and "STRONG" in (value.lifecycle, *(each.lifecycle for each in others)):
        raise errors.too_many_associations(value.subject)


def _registered(
    state: State, subject: Subject, new: AssociationNew
) -> tuple[list[Record], SchemaAnswer | None]:
    if new.schema is None:
        return [], None
    decision = decide_register_tagged(state, subject, new.schema, normalise=bool(new.normalize))
    for record in decision.records:
        state = state.replay(record)
    version: Any = decision.answer.version
    value = state.versions_of(subject)[version]
    return list(decision.records), schema_answer(state, value)


def _check_resource(request: AssociationRequest) -> None:
    for name in ("resource_name", "resource_namespace", "resource_id"):
        if not getattr(request, name):
            raise errors.invalid_association(name, "", ("a name",))
    if request.resource_type not in (None, *RESOURCE_TYPES):
        raise errors.invalid_association("resourceType", request.resource_type, RESOURCE_TYPES)
    if not request.associations:
        raise errors.invalid_association("associations", "empty", ("at least one",))


def _key(value: AssociationValue) -> Key:
    return Key(records.ASSOCIATION, resource=value.resource_id, association=value.association_type)
