"""Whose quota it is: a user, a client id, both, or an address; and which of several holds for a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

Entity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs in the order of their types; a name of None is the default of those without a quota."""

Quotas = Mapping[Entity, Mapping[str, float]]
"""What was set: the values of each entity by their keys."""


class Scope(NamedTuple):
    """Who shares one quota: all connections of a user, of a client id, or of both. Empty means any."""

    user: str
    client_id: str


class Limit(NamedTuple):
    scope: Scope
    per_second: float


def entity(names: Mapping[str, str | None]) -> Entity:
    return tuple(sorted(names.items(), key=lambda pair: pair[0]))


def find_limit(quotas: Quotas, key: str, user: str, client_id: str) -> Limit | None:
    """The most specific quota that was set for a client: Kafka's eight levels, the strongest first."""
    both, any_client, any_user = Scope(user, client_id), Scope(user, ""), Scope("", client_id)
    for names, scope in (
        ({USER: user, CLIENT_ID: client_id}, both),
        ({USER: user, CLIENT_ID: None}, both),
        ({USER: user}, any_client),
        ({USER: None, CLIENT_ID: client_id}, both),
        ({USER: None, CLIENT_ID: None}, both),
        ({USER: None}, any_client),
        ({CLIENT_ID: client_id}, any_user),
        ({CLIENT_ID: None}, any_user),
    ):
        per_second = quotas.get(entity(names), {}).get(key)
        if per_second is not None:
            return Limit(scope, per_second)
    return None


def find_ip_limit(quotas: Quotas, key: str, address: str) -> float | None:
    """The quota of an address, or the one of all that have none."""
    for name in (address, None):
        per_second = quotas.get(((IP, name),), {}).get(key)
        if per_second is not None:
            return per_second
    return None
