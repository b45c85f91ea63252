"""Decisions about client quotas: change the values of an entity; and which entities a filter describes. Pure,
with Kafka's sentences.

On purpose unlike Kafka: the address of an `ip` entity is written as a number; names are not looked up.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from penstock.controller.image import Image
from penstock.controller.metadata_records import ClientQuotaRecord, MetadataRecord
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.quotas.clients import CONNECTION, FETCH, MUTATION, PRODUCE, REQUEST
from penstock.quotas.entities import CLIENT_ID, IP, USER, Entity, entity

WHOLE_NUMBERS: Final = {PRODUCE: 2**63 - 1, FETCH: 2**63 - 1}
USER_KEYS: Final = frozenset({PRODUCE, FETCH, REQUEST, MUTATION})
IP_KEYS: Final = frozenset({CONNECTION})
IP_LIMIT: Final = 2**31 - 1
_FRACTION: Final = 1e-6


class Match:
    """How a part of a filter compares, with Kafka's numbers."""

    EXACT: Final = 0
    DEFAULT: Final = 1
    SPECIFIED: Final = 2


class QuotaChange(NamedTuple):
    """One value of an entity; None takes it away."""

    key: str
    value: float | None


class Component(NamedTuple):
    """One part of a filter."""

    entity_type: str
    match_type: int
    match: str | None


def decide_quotas(
    image: Image, parts: Sequence[tuple[str, str | None]], changes: Sequence[QuotaChange]
) -> list[MetadataRecord]:
    """The records that change the quotas of one entity."""
    whose = _checked_entity(parts)
    keys = [change.key for change in changes]
    for key in keys:
        if keys.count(key) > 1:
            raise _invalid(f"Duplicate quota key {key} not updating quota for this entity {_shown(whose)}")
    present = image.quotas.get(whose, {})
    records: list[MetadataRecord] = []
    for key, value in changes:
        if value is None:
            if key in present:
                records.append(ClientQuotaRecord(whose, key, 0.0, remove=True))
            continue
        _check_value(whose, key, value)
        if present.get(key) != value:
            records.append(ClientQuotaRecord(whose, key, value, remove=False))
    return records


def described_quotas(
    image: Image, components: Sequence[Component], *, strict: bool
) -> Mapping[Entity, Mapping[str, float]]:
    """The entities that a filter matches, with their values."""
    exact, present = _checked_filter(components)
    return {
        whose: values
        for whose, values in image.quotas.items()
        if (not strict or len(whose) == len(exact) + len(present))
        and all((kind, name) in whose for kind, name in exact.items())
        and present <= dict(whose).keys()
    }


def _checked_entity(parts: Sequence[tuple[str, str | None]]) -> Entity:
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    names: dict[str, str | None] = {}
    for kind, name in parts:
        if kind in names:
            raise _invalid(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        names[kind] = name
    if IP in names:
        _check_address(names)
    return entity(names)


def _check_address(names: Mapping[str, str | None]) -> None:
    if len(names) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should not be combined with User or ClientId"
        )
    address = names[IP]
    if address is None:
        return
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise _invalid(f"{address} is not a valid IP or resolvable host.") from None


def _check_value(whose: Entity, key: str, value: float) -> None:
    is_address = whose[0][0] == IP
    if key not in (IP_KEYS if is_address else USER_KEYS):
        raise _invalid(f"Invalid configuration key {key}")
    if math.isnan(value) or value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    largest = IP_LIMIT if is_address else WHOLE_NUMBERS.get(key)
    if largest is None:
        return
    if value > largest:
        raise _invalid(f"Proposed value for {key} is too large for a{'n INT' if is_address else ' LONG'}.")
    if abs(value % 1.0) > _FRACTION:
        raise _invalid(f"{key} cannot be a fractional value.")


def _checked_filter(components: Sequence[Component]) -> tuple[dict[str, str | None], set[str]]:
    exact: dict[str, str | None] = {}
    present: set[str] = set()
    for kind, how, match in components:
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in exact or kind in present:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        _check_match(how, match)
        if how == Match.SPECIFIED:
            present.add(kind)
        else:
            exact[kind] = match
    kinds = exact.keys() | present
    if IP in kinds and len(kinds) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user "
            "or clientId filter component."
        )
    return exact, present


def _check_match(how: int, match: str | None) -> None:
    if how == Match.EXACT and match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if how in (Match.DEFAULT, Match.SPECIFIED) and match is not None:
        name = "DEFAULT" if how == Match.DEFAULT else "SPECIFIED"
        raise _invalid(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
    if how not in (Match.EXACT, Match.DEFAULT, Match.SPECIFIED):
        raise _invalid(f"Unknown match type {how}")


def _shown(whose: Entity) -> str:
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in whose)
    return f"ClientEntity(entries={{{names}}})"


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
