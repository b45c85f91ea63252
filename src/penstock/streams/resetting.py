"""`Applications`: what a cluster knows of an application, and how it is made to begin anew.

An application is its id: a group whose committed offsets say how far it is, topics that begin with it, and a
transactional id that only the running instance holds. A reset moves the first, deletes the second and fences
the third. Called by the command line; nothing here runs a topology.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.client.admin import Admin, Partition
from penstock.client.direct import cluster_of
from penstock.client.errors import ClientError, GroupNotFound
from penstock.client.groups import Groups
from penstock.client.metadata import GroupMember, TopicInfo
from penstock.client.targets import Target
from penstock.client.transactions import Transactions
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError
from penstock.wire.transactions import TransactionOwner

_INTERNAL: Final = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic)"
    r"|.*KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic"
)
_OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
_FENCING_TIMEOUT_MS: Final = 60_000
_LOOK_EVERY_S: Final = 0.2


class StillRunning(ClientError):
    """An application that must be stopped first."""

    code = "still_running"


class UnknownApplication(ClientError):
    code = "unknown_application"


@dataclass(frozen=True)
class ApplicationInfo:
    application_id: str
    members: tuple[GroupMember, ...]
    transaction: str | None
    """The state of its transaction; none if it never had one."""
    committed: dict[Partition, int]
    ends: dict[Partition, int]
    internal_topics: tuple[TopicInfo, ...]

    @property
    def lag(self) -> int:
        return sum(max(0, self.ends[at] - offset) for at, offset in self.committed.items() if at in self.ends)

    @property
    def running(self) -> str | None:
        """How one sees that it runs; none if nothing says so."""
        if self.members:
            return f"its group has {len(self.members)} members"
        return "its transaction is open" if self.transaction in _OPEN else None


@dataclass(frozen=True)
class Reset:
    """What a reset did, or would do."""

    offsets: dict[Partition, int]
    deleted_topics: tuple[str, ...]


class Applications:
    def __init__(
        self, bootstrap_servers: str, *, timeout_s: float = 10.0, settings: Mapping[str, str] | None = None
    ) -> None:
        """`settings` are the client's, such as Kafka's security settings."""
        self._servers, self._timeout_s, self._settings = bootstrap_servers, timeout_s, settings
        self._admin = Admin(bootstrap_servers, timeout_s=timeout_s, settings=settings)
        self._groups = Groups(self._admin)

    def describe(self, application_id: str) -> ApplicationInfo:
        internal = self._internal_topics(application_id)
        try:
            members = self._groups.describe(application_id).members
        except GroupNotFound:
            if not internal:
                raise UnknownApplication(
                    f"There is no application {application_id!r}: no group and no topic has its name."
                ) from None
            members = ()
        committed = self._groups.committed(application_id)
        ends = self._admin.end_offsets(committed)
        state = self._transaction_state(application_id)
        return ApplicationInfo(application_id, members, state, committed, ends, tuple(internal))

    def reset(
        self,
        application_id: str,
        target: Target,
        input_topics: Sequence[str] = (),
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Reset:
        """Move the offsets of the input topics, by default of all that it has committed, and delete what is
        internal. Refused while it runs; with `force` the running instance is fenced first.
        """
        found = self.describe(application_id)
        if found.running is not None and not force:
            raise StillRunning(
                f"Application {application_id!r} runs: {found.running}. Stop it first, or give --force to "
                "fence it."
            )
        names = [topic.name for topic in found.internal_topics]
        topics = input_topics or sorted({topic for topic, _ in found.committed} - set(names))
        planned = Reset(self._groups.offsets_for(topics, target, found.committed), tuple(names))
        if not dry_run:
            self._fence(found)
            # What is not reset stays where it is, but forgets which version of the state belonged to it.
            self._groups.set_offsets(application_id, {**found.committed, **planned.offsets})
            for name in names:
                self._admin.delete_topic(name)
        return planned

    def _internal_topics(self, application_id: str) -> list[TopicInfo]:
        topics = self._admin.topics()
        others = [name for name in self._groups.names() if name.startswith(f"{application_id}-")]
        return [topic for topic in topics if is_internal_of(application_id, topic.name, others)]

    def _transaction_state(self, application_id: str) -> str | None:
        listed = Transactions(self._servers, timeout_s=self._timeout_s, settings=self._settings).listed()
        return next((one.state for one in listed if one.transactional_id == application_id), None)

    def _fence(self, found: ApplicationInfo) -> None:
        """End what is open, and wait until the members, if there are any, have seen it and gone."""
        if found.transaction is not None:
            cluster = cluster_of(self._admin.connection, client_id="penstock-streams-reset")
            owner = TransactionOwner(cluster, found.application_id, timeout_ms=_FENCING_TIMEOUT_MS)
            try:
                owner.fence(Deadline(self._timeout_s))
            except WireError as error:
                raise ClientError(f"Could not fence application {found.application_id!r}: {error}") from error
        deadline = time.monotonic() + self._timeout_s
        while found.members and self._groups.describe(found.application_id).members:
            if time.monotonic() > deadline:
                raise StillRunning(
                    f"The members of group {found.application_id!r} did not leave in {self._timeout_s:g} s. "
                    "Stop them, or try again when their session has timed out."
                )
            time.sleep(_LOOK_EVERY_S)


def is_internal_of(application_id: str, topic: str, others: Collection[str] = ()) -> bool:
    """Whether a topic belongs to an application, and not to one of `others`, whose longer id begins alike."""
    if not topic.startswith(f"{application_id}-") or _INTERNAL.fullmatch(topic) is None:
        return False
    return not any(topic.startswith(f"{other}-") for other in others)
