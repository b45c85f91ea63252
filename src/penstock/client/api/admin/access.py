"""Who may do what and how much: access control entries, quotas, SCRAM users, delegation tokens."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from penstock.client.api.admin.asking import Asking, check, failure
from penstock.client.api.admin.results import Keyed, mapped
from penstock.client.api.exceptions import InvalidRequestException
from penstock.protocol.apis import Api
from penstock.security.acls import PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.wire.deadline import Deadline

ANY: Final = "ANY"
MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
ITERATIONS: Final = 4096
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_EXACT, _DEFAULT, _SPECIFIED = 0, 1, 2
Kind = TypeVar("Kind", ResourceType, PatternType, Operation, Permission)


class AclBinding(NamedTuple):
    """One entry: `AclBinding("TOPIC", "orders", "LITERAL", "User:alice", "*", "READ", "ALLOW")`."""

    resource_type: str
    name: str
    pattern_type: str = "LITERAL"
    principal: str = "User:*"
    host: str = "*"
    operation: str = "ALL"
    permission_type: str = "ALLOW"


class AclBindingFilter(NamedTuple):
    """Which entries are meant; ANY and None match everything."""

    resource_type: str = ANY
    name: str | None = None
    pattern_type: str = ANY
    principal: str | None = None
    host: str | None = None
    operation: str = ANY
    permission_type: str = ANY


ClientQuotaEntity = tuple[tuple[str, str | None], ...]
"""Pairs of `user`, `client-id` or `ip` with a name; None is the default."""


class ClientQuotaFilterComponent(NamedTuple):
    """Entities with this type: of this name, of the default (`of_default_entity`), or of any name."""

    entity_type: str
    match: str | None = None
    match_type: int = _SPECIFIED

    @classmethod
    def of_entity(cls, entity_type: str, name: str) -> ClientQuotaFilterComponent:
        return cls(entity_type, name, _EXACT)

    @classmethod
    def of_default_entity(cls, entity_type: str) -> ClientQuotaFilterComponent:
        return cls(entity_type, None, _DEFAULT)

    @classmethod
    def of_entity_type(cls, entity_type: str) -> ClientQuotaFilterComponent:
        return cls(entity_type)


class ClientQuotaAlteration(NamedTuple):
    entity: ClientQuotaEntity
    ops: Mapping[str, float | None]
    """None takes a quota away."""


class ScramCredentialInfo(NamedTuple):
    mechanism: str
    iterations: int


class UserScramCredentialUpsertion(NamedTuple):
    user: str
    mechanism: str
    password: str
    iterations: int = ITERATIONS
    salt: bytes | None = None


class UserScramCredentialDeletion(NamedTuple):
    user: str
    mechanism: str


class DelegationToken(NamedTuple):
    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    hmac: bytes


class CreateAclsResult(Keyed[AclBinding, None]): ...


class DeleteAclsResult(Keyed[AclBindingFilter, list[AclBinding]]): ...


class AlterClientQuotasResult(Keyed[ClientQuotaEntity, None]): ...


class AlterUserScramCredentialsResult(Keyed[str, None]): ...


class DescribeUserScramCredentialsResult:
    def __init__(self, found: Future[dict[str, list[ScramCredentialInfo] | Exception]]) -> None:
        self._found = found

    def all(self) -> Future[dict[str, list[ScramCredentialInfo]]]:
        return mapped(self._found, lambda found: {name: _known(each) for name, each in found.items()})

    def users(self) -> Future[list[str]]:
        """Those that have a credential."""
        return mapped(
            self._found,
            lambda found: sorted(name for name, each in found.items() if not isinstance(each, Exception)),
        )

    def description(self, user: str) -> Future[list[ScramCredentialInfo]]:
        return mapped(self._found, lambda found: _known(found[user]))


class Access(Asking):
    def describe_acls(
        self, acl_filter: AclBindingFilter | None = None, *, timeout: float | None = None
    ) -> Future[list[AclBinding]]:
        wanted = acl_filter or AclBindingFilter()

        def work(deadline: Deadline) -> list[AclBinding]:
            answer = self._ask(Api.DESCRIBE_ACLS, _filter(wanted), (1, 3), deadline)
            check(answer, "describe ACLs")
            return sorted(_binding(each, acl) for each in answer.resources for acl in each.acls)

        return self._one("describe ACLs", work, timeout)

    def create_acls(self, acls: Iterable[AclBinding], *, timeout: float | None = None) -> CreateAclsResult:
        wanted = [AclBinding(*each) for each in acls]
        creations = [_creation(each) for each in wanted]

        def work(deadline: Deadline) -> Mapping[AclBinding, Any]:
            answer = self._ask(Api.CREATE_ACLS, {"creations": creations}, (1, 3), deadline)
            return {
                each: failure(part, "create an ACL")
                for each, part in zip(wanted, answer.results, strict=True)
            }

        return self._each(CreateAclsResult(wanted), "create ACLs", work, timeout)

    def delete_acls(
        self, filters: Iterable[AclBindingFilter], *, timeout: float | None = None
    ) -> DeleteAclsResult:
        """What was deleted, by filter."""
        wanted = [AclBindingFilter(*each) for each in filters]
        asked = [_filter(each) for each in wanted]

        def work(deadline: Deadline) -> Mapping[AclBindingFilter, Any]:
            answer = self._ask(Api.DELETE_ACLS, {"filters": asked}, (1, 3), deadline)
            return {
                each: failure(part, "delete ACLs") or sorted(_binding(acl, acl) for acl in part.matching_acls)
                for each, part in zip(wanted, answer.filter_results, strict=True)
            }

        return self._each(DeleteAclsResult(wanted), "delete ACLs", work, timeout)

    def describe_client_quotas(
        self,
        components: Collection[ClientQuotaFilterComponent] = (),
        *,
        strict: bool = False,
        timeout: float | None = None,
    ) -> Future[dict[ClientQuotaEntity, dict[str, float]]]:
        """All, or those of these components; `strict` means of no others."""

        def work(deadline: Deadline) -> dict[ClientQuotaEntity, dict[str, float]]:
            asked = [
                {"entity_type": each.entity_type, "match_type": each.match_type, "match": each.match}
                for each in components
            ]
            fields = {"components": asked, "strict": strict}
            answer = self._ask(Api.DESCRIBE_CLIENT_QUOTAS, fields, (0, 1), deadline)
            check(answer, "describe quotas")
            return {
                _entity(each.entity): {value.key: float(value.value) for value in each.values}
                for each in answer.entries or ()
            }

        return self._one("describe quotas", work, timeout)

    def alter_client_quotas(
        self,
        entries: Iterable[ClientQuotaAlteration],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> AlterClientQuotasResult:
        wanted = [
            ClientQuotaAlteration(tuple(sorted(each.entity, key=_by_type)), each.ops) for each in entries
        ]

        def work(deadline: Deadline) -> Mapping[ClientQuotaEntity, Any]:
            fields = {"entries": [_alteration(each) for each in wanted], "validate_only": validate_only}
            answer = self._ask(Api.ALTER_CLIENT_QUOTAS, fields, (0, 1), deadline)
            return {_entity(part.entity): failure(part, "alter quotas") for part in answer.entries}

        return self._each(
            AlterClientQuotasResult(each.entity for each in wanted), "alter quotas", work, timeout
        )

    def describe_user_scram_credentials(
        self, users: Collection[str] | None = None, *, timeout: float | None = None
    ) -> DescribeUserScramCredentialsResult:
        """Of these users, or of all."""

        def work(deadline: Deadline) -> dict[str, list[ScramCredentialInfo] | Exception]:
            fields = {"users": None if users is None else [{"name": each} for each in users]}
            answer = self._ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, fields, (0, 0), deadline)
            check(answer, "describe SCRAM credentials")
            names = {number: name for name, number in MECHANISMS.items()}
            return {
                part.user: failure(part, f"describe the credentials of {part.user!r}")
                or [
                    ScramCredentialInfo(names.get(each.mechanism, "UNKNOWN"), each.iterations)
                    for each in part.credential_infos
                ]
                for part in answer.results
            }

        return DescribeUserScramCredentialsResult(self._one("describe SCRAM credentials", work, timeout))

    def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        timeout: float | None = None,
    ) -> AlterUserScramCredentialsResult:
        wanted = list(alterations)

        def work(deadline: Deadline) -> Mapping[str, Any]:
            fields = {
                "deletions": [
                    {"name": each.user, "mechanism": _mechanism(each.mechanism)}
                    for each in wanted
                    if isinstance(each, UserScramCredentialDeletion)
                ],
                "upsertions": [
                    _upsertion(each) for each in wanted if isinstance(each, UserScramCredentialUpsertion)
                ],
            }
            answer = self._ask(Api.ALTER_USER_SCRAM_CREDENTIALS, fields, (0, 0), deadline)
            return {part.user: failure(part, f"alter {part.user!r}") for part in answer.results}

        return self._each(
            AlterUserScramCredentialsResult(each.user for each in wanted), "alter users", work, timeout
        )

    def create_delegation_token(
        self,
        *,
        renewers: Collection[str] = (),
        owner: str | None = None,
        max_lifetime_ms: int = -1,
        timeout: float | None = None,
    ) -> Future[DelegationToken]:
        """For the user of this connection, or for `owner`. Principals are written as `User:alice`."""

        def work(deadline: Deadline) -> DelegationToken:
            kind, name = (None, None) if owner is None else _principal(owner)
            fields = {
                "owner_principal_type": kind,
                "owner_principal_name": name,
                "renewers": _principals(renewers),
                "max_lifetime": max_lifetime_ms,
            }
            oldest = 1 if owner is None else 3
            answer = self._ask(Api.CREATE_DELEGATION_TOKEN, fields, (oldest, 3), deadline)
            check(answer, "create a delegation token")
            return _token(answer, tuple(renewers))

        return self._one("create a delegation token", work, timeout)

    def renew_delegation_token(
        self, hmac: bytes, *, renew_time_period_ms: int = -1, timeout: float | None = None
    ) -> Future[int]:
        """When it expires now, in milliseconds."""

        def work(deadline: Deadline) -> int:
            fields = {"hmac": hmac, "renew_period": renew_time_period_ms}
            answer = self._ask(Api.RENEW_DELEGATION_TOKEN, fields, (1, 2), deadline)
            check(answer, "renew a delegation token")
            return _milliseconds(answer.expiry_timestamp)

        return self._one("renew a delegation token", work, timeout)

    def expire_delegation_token(
        self, hmac: bytes, *, expiry_time_period_ms: int = -1, timeout: float | None = None
    ) -> Future[int]:
        """At once, or after a time."""

        def work(deadline: Deadline) -> int:
            fields = {"hmac": hmac, "expiry_time_period": expiry_time_period_ms}
            answer = self._ask(Api.EXPIRE_DELEGATION_TOKEN, fields, (1, 2), deadline)
            check(answer, "expire a delegation token")
            return _milliseconds(answer.expiry_timestamp)

        return self._one("expire a delegation token", work, timeout)

    def describe_delegation_token(
        self, owners: Collection[str] | None = None, *, timeout: float | None = None
    ) -> Future[list[DelegationToken]]:
        def work(deadline: Deadline) -> list[DelegationToken]:
            fields = {"owners": None if owners is None else _principals(owners)}
            answer = self._ask(Api.DESCRIBE_DELEGATION_TOKEN, fields, (1, 3), deadline)
            check(answer, "describe delegation tokens")
            return [
                _token(each, tuple(f"{one.principal_type}:{one.principal_name}" for one in each.renewers))
                for each in answer.tokens
            ]

        return self._one("describe delegation tokens", work, timeout)


def _filter(wanted: AclBindingFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": _number(ResourceType, wanted.resource_type),
        "resource_name_filter": wanted.name,
        "pattern_type_filter": _number(PatternType, wanted.pattern_type),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": _number(Operation, wanted.operation),
        "permission_type": _number(Permission, wanted.permission_type),
    }


def _creation(acl: AclBinding) -> dict[str, Any]:
    return {
        "resource_type": _number(ResourceType, acl.resource_type),
        "resource_name": acl.name,
        "resource_pattern_type": _number(PatternType, acl.pattern_type),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _number(Operation, acl.operation),
        "permission_type": _number(Permission, acl.permission_type),
    }


def _number(kind: type[Kind], name: str) -> int:
    try:
        return int(kind[name.upper()])
    except KeyError:
        allowed = ", ".join(each.name for each in kind)
        raise InvalidRequestException(f"{name!r:.80} is not one of {allowed}.", "INVALID_REQUEST") from None


def _binding(resource: Any, acl: Any) -> AclBinding:
    return AclBinding(
        ResourceType(resource.resource_type).name,
        resource.resource_name,
        PatternType(resource.pattern_type).name,
        acl.principal,
        acl.host,
        Operation(acl.operation).name,
        Permission(acl.permission_type).name,
    )


def _by_type(pair: tuple[str, str | None]) -> str:
    return pair[0]


def _entity(parts: Iterable[Any]) -> ClientQuotaEntity:
    return tuple(sorted(((each.entity_type, each.entity_name) for each in parts), key=_by_type))


def _alteration(change: ClientQuotaAlteration) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in change.entity],
        "ops": [
            {"key": key, "value": 0.0 if value is None else float(value), "remove": value is None}
            for key, value in change.ops.items()
        ],
    }


def _mechanism(name: str) -> int:
    if name not in MECHANISMS:
        raise InvalidRequestException(f"{name!r} is not one of {', '.join(MECHANISMS)}.", "INVALID_REQUEST")
    return MECHANISMS[name]


def _upsertion(wanted: UserScramCredentialUpsertion) -> dict[str, Any]:
    """The password never leaves this machine: its salted form does."""
    number = _mechanism(wanted.mechanism)
    salt = os.urandom(32) if wanted.salt is None else wanted.salt
    salted = hashlib.pbkdf2_hmac(_HASHES[wanted.mechanism], wanted.password.encode(), salt, wanted.iterations)
    return {
        "name": wanted.user,
        "mechanism": number,
        "iterations": wanted.iterations,
        "salt": salt,
        "salted_password": salted,
    }


def _known(found: list[ScramCredentialInfo] | Exception) -> list[ScramCredentialInfo]:
    if isinstance(found, Exception):
        raise found
    return found


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.partition(":")
    if not colon:
        raise InvalidRequestException(f"{text!r} is not a principal such as User:alice.", "INVALID_REQUEST")
    return kind, name


def _principals(texts: Iterable[str]) -> list[dict[str, str]]:
    return [{"principal_type": kind, "principal_name": name} for kind, name in map(_principal, texts)]


def _token(part: Any, renewers: tuple[str, ...]) -> DelegationToken:
    owner = f"{part.principal_type}:{part.principal_name}"
    requester = owner
    if hasattr(part, "token_requester_principal_name"):
        requester = f"{part.token_requester_principal_type}:{part.token_requester_principal_name}"
    return DelegationToken(
        part.token_id,
        owner,
        requester,
        renewers,
        _milliseconds(part.issue_timestamp),
        _milliseconds(part.expiry_timestamp),
        _milliseconds(part.max_timestamp),
        bytes(part.hmac),
    )


def _milliseconds(moment: datetime | int) -> int:
    return moment if isinstance(moment, int) else round(moment.timestamp() * 1000)
