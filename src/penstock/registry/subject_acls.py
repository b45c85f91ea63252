"""Entries of the registry's own: which user may do which operation on which subject, as Confluent's
SchemaRegistryAclAuthorizer has it, in a compacted topic beside the schemas (`_schemas_acl`).

`by_entries` is what the routes ask in place of the cluster's entries on topics. There are no denials. The
layout of the records is our own: Confluent does not publish its plugin's.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import Decision, ReplayedTopic
from penstock.registry.rights import Decide, DeciderOf
from penstock.registry.settings import RegistrySettings
from penstock.registry.subjects import Subject
from penstock.security.access import SubjectOperation
from penstock.web.callers import Caller
from penstock.web.errors import HttpError

ANY: Final = "*"
WHOLE_REGISTRY: Final = ""
"""What stands for the subject of an entry about the registry as a whole."""
_audit = logging.getLogger("kafka.authorizer.logger")


class SubjectEntry(NamedTuple):
    """A user without `User:`, or `*`; a subject, `*`, or nothing for operations on all; an operation or
    `*`."""

    principal: str
    subject: str
    operation: str


class EntryRecord(NamedTuple):
    entry: SubjectEntry
    is_there: bool


@dataclass(frozen=True, slots=True)
class Entries:
    """The state that comes of the records."""

    known: frozenset[SubjectEntry] = frozenset()

    def replay(self, record: EntryRecord) -> Entries:
        return replace(
            self, known=self.known | {record.entry} if record.is_there else self.known - {record.entry}
        )

    def record_of(self, record: EntryRecord) -> EntryRecord:
        return EntryRecord(record.entry, record.entry in self.known)

    def allow(self, user: str, operation: str, subject: str) -> bool:
        """`subject` as clients write it; WHOLE_REGISTRY for operations on all."""
        subjects = {subject} if subject == WHOLE_REGISTRY else {subject, ANY}
        return any(
            SubjectEntry(principal, each, wanted) in self.known
            for principal in (user, ANY)
            for each in subjects
            for wanted in (operation, ANY)
        )


class EntryCodec:
    """The key is the entry; a record without a value takes it away."""

    def encode(self, record: EntryRecord) -> tuple[bytes, bytes | None]:
        return json.dumps(record.entry._asdict()).encode(), b"{}" if record.is_there else None

    def decode(self, key: bytes | None, value: bytes | None, timestamp_ms: int | None) -> EntryRecord | None:
        try:
            fields = json.loads(key or b"")
            return EntryRecord(
                SubjectEntry(**{name: str(text) for name, text in fields.items()}), value is not None
            )
        except (ValueError, TypeError, AttributeError):
            return None


EntriesTopic: TypeAlias = ReplayedTopic[EntryRecord, Entries]


def entries_topic(settings: RegistrySettings) -> EntriesTopic:
    """Not started."""
    topic = ReplayedTopicSettings(
        settings.bootstrap_servers,
        settings.acl_topic or f"{settings.topic}_acl",
        settings.replication_factor,
        settings.timeout_s,
        settings.init_timeout_s,
        client=settings.client,
    )
    return ReplayedTopic(topic, EntryCodec(), Entries())


def change(topic: EntriesTopic, entries: Collection[SubjectEntry], *, is_there: bool) -> None:
    """Adds or removes entries; those that are so already are left alone."""
    topic.change(
        lambda state: Decision(
            [EntryRecord(each, is_there) for each in entries if (each in state.known) is not is_there], None
        )
    )


def by_entries(topic: EntriesTopic) -> DeciderOf:
    """As the registry's own entries say."""

    async def decider(caller: Caller) -> Decide:
        if topic.failure:
            raise HttpError(503, "The access control entries of the registry cannot be read.", 50301)
        state = topic.view.state

        def decide(operation: SubjectOperation, subject: Subject | None) -> bool:
            name = WHOLE_REGISTRY if subject is None else str(subject)
            allowed = state.allow(caller.principal.name, operation.name, name)
            _write_down(caller, operation, name, allowed=allowed)
            return allowed

        return decide

    return decider


def _write_down(caller: Caller, operation: SubjectOperation, subject: str, *, allowed: bool) -> None:
    _audit.log(
        logging.DEBUG if allowed else logging.INFO,
        "Principal = %s is %s operation = %s from host = %s on subject = %s",
        caller.principal,
        "Allowed" if allowed else "Denied",
        operation.name,
        caller.host,
        subject or "(the registry)",
    )


def entries_of(users: Iterable[str], subject: str | None, operations: Iterable[str]) -> list[SubjectEntry]:
    """ValueError says what is wrong with the words of a command."""
    known = {operation.name: operation.name for operation in SubjectOperation}
    known |= {ANY: ANY, "GLOBAL_SUBJECTS_READ": "GLOBAL_READ"}
    found = []
    for operation in operations:
        if operation not in known:
            raise ValueError(f"{operation} is no operation: write one of {', '.join(sorted(known))}")
        is_global = operation.startswith("GLOBAL_")
        if not is_global and not subject:
            raise ValueError(f"{operation} needs a subject")
        places = [WHOLE_REGISTRY] if is_global else [subject or ""]
        if operation == ANY and subject == ANY:
            places.append(WHOLE_REGISTRY)
        found += [
            SubjectEntry(user.removeprefix("User:"), place, known[operation])
            for user in users
            for place in places
        ]
    return found
