"""Access control entries: what one says, which of them concern a request, and filters over them.

`Acls` is immutable and indexed by resource and principal, so that a decision looks at the few entries that
can matter: those of the name itself, of each prefix of it, and of the wildcard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from penstock.security.operations import Operation, ResourceType

WILDCARD: Final = "*"
ANY_PRINCIPAL: Final = "User:*"


class PatternType(IntEnum):
    """How an entry names resources. `ANY` and `MATCH` occur in filters only."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an entry says. `ANY` occurs in filters only."""

    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """A principal, from a host, may or may not do something with what the pattern names."""

    resource: ResourceType
    pattern: PatternType
    name: str
    principal: str
    """As Kafka writes it, such as `User:alice`; `User:*` is every user."""
    host: str
    """An address, or `*`. Names of hosts are not looked up."""
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        return (
            f"StandardAcl(resourceType={self.resource.name}, resourceName={self.name}, "
            f"patternType={self.pattern.name}, principal={self.principal}, host={self.host}, "
            f"operation={self.operation.name}, permissionType={self.permission.name})"
        )


class AclFilter(NamedTuple):
    """Which entries are meant. None means any."""

    resource: ResourceType
    pattern: PatternType
    name: str | None
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource in (ResourceType.ANY, acl.resource)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._matches_pattern(acl)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern not in (PatternType.ANY, PatternType.MATCH, acl.pattern):
            return False
        if self.name is None:
            return True
        if self.pattern in (PatternType.ANY, acl.pattern):
            return self.name == acl.name
        if acl.pattern is PatternType.LITERAL:
            return acl.name in (self.name, WILDCARD)
        return self.name.startswith(acl.name)


_ByPrincipal = Mapping[str, tuple[Acl, ...]]
_Key = tuple[ResourceType, PatternType, str]


class Acls:
    """All entries, by their ids. The authorizer asks `on`; `changed_to` makes the next value."""

    def __init__(self) -> None:
        self._by_id: Mapping[bytes, Acl] = {}
        self._index: dict[_Key, _ByPrincipal] = {}
        self._prefix_lengths: dict[ResourceType, tuple[int, ...]] = {}

    @property
    def by_id(self) -> Mapping[bytes, Acl]:
        return self._by_id

    def __len__(self) -> int:
        return len(self._by_id)

    def changed_to(self, by_id: Mapping[bytes, Acl]) -> Acls:
        """These entries instead; what is the same is not indexed again."""
        found = Acls()
        found._by_id = by_id
        found._index = dict(self._index)
        gone = _grouped(self._by_id[each] for each in self._by_id.keys() - by_id.keys())
        come = _grouped(by_id[each] for each in by_id.keys() - self._by_id.keys())
        for key in gone.keys() | come.keys():
            buckets = {name: list(acls) for name, acls in found._index.pop(key, {}).items()}
            for acl in gone.get(key, ()):
                buckets[acl.principal].remove(acl)
            for acl in come.get(key, ()):
                buckets.setdefault(acl.principal, []).append(acl)
            kept = {name: tuple(acls) for name, acls in buckets.items() if acls}
            if kept:
                found._index[key] = kept
        found._prefix_lengths = _prefix_lengths(found._index)
        return found

    def on(self, resource: ResourceType, name: str) -> Iterator[_ByPrincipal]:
        """The entries whose pattern names this resource, by principal."""
        literal = self._index.get((resource, PatternType.LITERAL, name))
        if literal is not None:
            yield literal
        for length in self._prefix_lengths.get(resource, ()):
            if length <= len(name):
                prefixed = self._index.get((resource, PatternType.PREFIXED, name[:length]))
                if prefixed is not None:
                    yield prefixed
        if name != WILDCARD:
            everything = self._index.get((resource, PatternType.LITERAL, WILDCARD))
            if everything is not None:
                yield everything

    def matching(self, wanted: AclFilter) -> Iterator[tuple[bytes, Acl]]:
        return ((number, acl) for number, acl in self._by_id.items() if wanted.matches(acl))

    def of_type(self, resource: ResourceType) -> Iterable[Acl]:
        return (acl for acl in self._by_id.values() if acl.resource is resource)


def _grouped(acls: Iterable[Acl]) -> dict[_Key, list[Acl]]:
    found: dict[_Key, list[Acl]] = {}
    for acl in acls:
        found.setdefault((acl.resource, acl.pattern, acl.name), []).append(acl)
    return found


def _prefix_lengths(index: Mapping[_Key, _ByPrincipal]) -> dict[ResourceType, tuple[int, ...]]:
    found: dict[ResourceType, set[int]] = {}
    for resource, pattern, name in index:
        if pattern is PatternType.PREFIXED:
            found.setdefault(resource, set()).add(len(name))
    return {resource: tuple(sorted(lengths)) for resource, lengths in found.items()}
