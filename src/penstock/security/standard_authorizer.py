"""Kafka's StandardAuthorizer: a denial beats a permission, super users may do everything, and each decision
is written to the log `kafka.authorizer.logger` (denied at INFO, allowed at DEBUG).

The entries are those of the metadata image at this moment; nothing is cached beyond their index.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

from penstock.security.acls import ANY_PRINCIPAL, WILDCARD, Acl, Acls, PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import THIS_NODE, Principal

CLASS_NAME: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

_IMPLIED_BY: Final[dict[Operation, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset({Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""A permission to read is one to describe. A denial implies nothing."""
_ALLOWING: Final = {
    operation: frozenset({operation, Operation.ALL}) | _IMPLIED_BY.get(operation, frozenset())
    for operation in Operation
}
_DENYING: Final = {operation: frozenset({operation, Operation.ALL}) for operation in Operation}

_audit = logging.getLogger("kafka.authorizer.logger")

Rule = Acl | str
"""Why a decision fell as it did: an entry, or the name of a rule."""


class StandardAuthorizer:
    """An `Authorizer` over the entries that `current` gives."""

    def __init__(
        self,
        current: Callable[[], Mapping[bytes, Acl]],
        super_users: Collection[str] = (),
        *,
        allow_if_no_acl: bool = False,
    ) -> None:
        self._current = current
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        self._acls = Acls()

    @property
    def acls(self) -> Acls:
        """As of now. Two threads may index the same change; either result is right."""
        by_id, acls = self._current(), self._acls
        if acls.by_id is not by_id:
            acls = self._acls = acls.changed_to(by_id)
        return acls

    def authorize(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource: ResourceType,
        name: str,
        request: str = "",
    ) -> bool:
        allowed, rule = self.decide(principal, host, operation, resource, name)
        if request and _audit.isEnabledFor(logging.DEBUG if allowed else logging.INFO):
            _audit.log(
                logging.DEBUG if allowed else logging.INFO,
                "Principal = %s is %s operation = %s from host = %s on resource = %s:LITERAL:%s "
                "for request = %s with resourceRefCount = 1 based on rule %s",
                principal,
                "Allowed" if allowed else "Denied",
                operation.name,
                host,
                _camel(resource.name),
                name,
                _camel(request),
                f"MatchingAcl(acl={rule})" if isinstance(rule, Acl) else rule,
            )
        return allowed

    def decide(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType, name: str
    ) -> tuple[bool, Rule]:
        shown = str(principal)
        if principal is THIS_NODE or shown in self._super_users:
            return True, "SuperUser"
        allowing, denying = _ALLOWING[operation], _DENYING[operation]
        allowed: Acl | None = None
        is_named = False
        for by_principal in self.acls.on(resource, name):
            is_named = True
            for whose in (shown, ANY_PRINCIPAL) if shown != ANY_PRINCIPAL else (shown,):
                for acl in by_principal.get(whose, ()):
                    if acl.host not in (WILDCARD, host):
                        continue
                    if acl.permission is Permission.DENY:
                        if acl.operation in denying:
                            return False, acl
                    elif allowed is None and acl.operation in allowing:
                        allowed = acl
        if allowed is not None:
            return True, allowed
        if is_named or not self._allow_if_no_acl:
            return False, "DefaultDeny"
        return True, "DefaultAllow"

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, resource: ResourceType
    ) -> bool:
        """Whether there can be a resource of this type on which the operation is allowed (KIP-679). A
        resource without entries counts, where those without any are open to everybody."""
        if self.decide(principal, host, operation, resource, "hardcode")[0]:
            return True
        whose = (str(principal), ANY_PRINCIPAL)
        mine = [
            acl
            for acl in self.acls.of_type(resource)
            if acl.principal in whose
            and acl.host in (WILDCARD, host)
            and acl.operation in (operation, Operation.ALL)
        ]
        denied = {(acl.pattern, acl.name) for acl in mine if acl.permission is Permission.DENY}
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(acl.permission is Permission.ALLOW and not _is_dominated(acl, denied) for acl in mine)


def _camel(name: str) -> str:
    return name.title().replace("_", "")


def _is_dominated(acl: Acl, denied: set[tuple[PatternType, str]]) -> bool:
    """Whether a denial takes away all that this permission gives."""
    if acl.pattern is PatternType.LITERAL and acl.name == WILDCARD:
        return False
    if acl.pattern is PatternType.LITERAL and (PatternType.LITERAL, acl.name) in denied:
        return True
    return any((PatternType.PREFIXED, acl.name[:end]) in denied for end in range(1, len(acl.name) + 1))
