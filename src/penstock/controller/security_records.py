"""Records of the metadata log about security, in Kafka's layout: access control entries, what is kept of
passwords for SCRAM, and delegation tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeVar

from penstock.protocol.primitives import MalformedMessage, Reader, Writer
from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.operations import Operation, ResourceType

Kind = TypeVar("Kind", ResourceType, PatternType, Operation, Permission)


@dataclass(frozen=True, slots=True)
class AccessControlEntryRecord:
    """An entry holds, under this id."""

    api_key: ClassVar[int] = 18
    version: ClassVar[int] = 0
    acl_id: bytes
    acl: Acl

    def write(self, writer: Writer) -> None:
        writer.uuid(self.acl_id)
        writer.int8(self.acl.resource)
        writer.string(self.acl.name)
        writer.int8(self.acl.pattern)
        writer.string(self.acl.principal)
        writer.string(self.acl.host)
        writer.int8(self.acl.operation)
        writer.int8(self.acl.permission)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        acl_id, resource, name = reader.uuid(), reader.int8(), reader.string()
        pattern, principal, host = reader.int8(), reader.string(), reader.string()
        operation, permission = reader.int8(), reader.int8()
        return cls(
            acl_id,
            Acl(
                _known(ResourceType, resource),
                _known(PatternType, pattern),
                name,
                principal,
                host,
                _known(Operation, operation),
                _known(Permission, permission),
            ),
        )


@dataclass(frozen=True, slots=True)
class RemoveAccessControlEntryRecord:
    """The entry with this id is gone."""

    api_key: ClassVar[int] = 19
    version: ClassVar[int] = 0
    acl_id: bytes

    def write(self, writer: Writer) -> None:
        writer.uuid(self.acl_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.uuid())


@dataclass(frozen=True, slots=True)
class UserScramCredentialRecord:
    """What a user's password is checked with. No `repr` shows it."""

    api_key: ClassVar[int] = 11
    version: ClassVar[int] = 0
    name: str
    mechanism: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    def write(self, writer: Writer) -> None:
        writer.string(self.name)
        writer.int8(self.mechanism)
        writer.sized_bytes(self.salt)
        writer.sized_bytes(self.stored_key)
        writer.sized_bytes(self.server_key)
        writer.int32(self.iterations)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        name, mechanism = reader.string(), reader.int8()
        salt, stored, server = (_bytes(reader) for _ in range(3))
        return cls(name, mechanism, salt, stored, server, reader.int32())


@dataclass(frozen=True, slots=True)
class RemoveUserScramCredentialRecord:
    """A user has no longer a password for this mechanism."""

    api_key: ClassVar[int] = 22
    version: ClassVar[int] = 0
    name: str
    mechanism: int

    def write(self, writer: Writer) -> None:
        writer.string(self.name)
        writer.int8(self.mechanism)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.string(), reader.int8())


@dataclass(frozen=True, slots=True)
class DelegationTokenRecord:
    """A delegation token holds. Its HMAC is not kept: every node makes it from the id and the secret key.
    Principals are written as `User:alice`, and times are milliseconds of the wall clock."""

    api_key: ClassVar[int] = 10
    version: ClassVar[int] = 0
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int
    """When it can be renewed no more."""
    expires_ms: int
    """When it ends unless it is renewed; never later than `max_ms`."""
    token_id: str

    def write(self, writer: Writer) -> None:
        writer.string(self.owner)
        writer.string(self.requester)
        writer.array(len(self.renewers))
        for renewer in self.renewers:
            writer.string(renewer)
        writer.int64(self.issued_ms)
        writer.int64(self.max_ms)
        writer.int64(self.expires_ms)
        writer.string(self.token_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        owner, requester = reader.string(), reader.string()
        renewers = tuple(reader.string() for _ in range(reader.array(1)))
        issued, latest, expires = reader.int64(), reader.int64(), reader.int64()
        return cls(owner, requester, renewers, issued, latest, expires, reader.string())

    def has_expired(self, now_ms: int) -> bool:
        return self.max_ms < now_ms or self.expires_ms < now_ms

    def belongs_to(self, principal: str) -> bool:
        """Whether the principal is the owner or may renew the token."""
        return principal == self.owner or principal in self.renewers


@dataclass(frozen=True, slots=True)
class RemoveDelegationTokenRecord:
    """The token with this id is gone."""

    api_key: ClassVar[int] = 26
    version: ClassVar[int] = 0
    token_id: str

    def write(self, writer: Writer) -> None:
        writer.string(self.token_id)

    @classmethod
    def read(cls, reader: Reader, version: int) -> Self:
        return cls(reader.string())


def _known(kind: type[Kind], code: int) -> Kind:
    try:
        return kind(code)
    except ValueError:
        raise MalformedMessage(f"an access control entry with {kind.__name__} {code}") from None


def _bytes(reader: Reader) -> bytes:
    return bytes(reader.nullable_bytes() or b"")
