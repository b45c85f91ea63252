"""What a caller may do with subjects, as Confluent's TopicAclAuthorizer has it.

The cluster's access control entries on the topic of the subject decide: Read is for reading, Write for
registering, Delete for deleting, and AlterConfigs for compatibility.

`SubjectRights.authorize` decides every route that declares an `OnSubject`. A route whose refusal is HIDDEN
passes, and its handler leaves out what `SubjectRights.decider` does not allow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from penstock.registry.errors import denied
from penstock.registry.lookups import aliased, find_id, locate, users_of
from penstock.registry.state import State
from penstock.registry.subjects import Subject, parse_subject
from penstock.security.access import OnSubject, Refusal, SubjectOperation
from penstock.security.operations import CLUSTER_NAME, Operation, ResourceType
from penstock.web.callers import Asked, Caller
from penstock.web.rights import Rights

if TYPE_CHECKING:
    from penstock.registry.records import ReferenceValue

Decide = Callable[[SubjectOperation, Subject | None], bool]
"""Whether an operation is allowed on a subject; without one, on the registry as a whole."""
DeciderOf = Callable[[Caller], Awaitable[Decide]]

ON_TOPIC: Final = {
    SubjectOperation.SUBJECT_READ: Operation.READ,
    SubjectOperation.SUBJECT_WRITE: Operation.WRITE,
    SubjectOperation.SUBJECT_DELETE: Operation.DELETE,
    SubjectOperation.SUBJECT_COMPATIBILITY_READ: Operation.READ,
    SubjectOperation.SUBJECT_COMPATIBILITY_WRITE: Operation.ALTER_CONFIGS,
}
ON_CLUSTER: Final = {
    SubjectOperation.GLOBAL_READ: Operation.DESCRIBE,
    SubjectOperation.GLOBAL_COMPATIBILITY_READ: Operation.DESCRIBE,
    SubjectOperation.GLOBAL_COMPATIBILITY_WRITE: Operation.ALTER,
}
WHOLE: Final = {
    SubjectOperation.SUBJECT_COMPATIBILITY_READ: SubjectOperation.GLOBAL_COMPATIBILITY_READ,
    SubjectOperation.SUBJECT_COMPATIBILITY_WRITE: SubjectOperation.GLOBAL_COMPATIBILITY_WRITE,
}
"""What an operation becomes where a context is named instead of a subject; others become GLOBAL_READ."""


async def everything(_caller: Caller) -> Decide:
    """Every caller may do everything: a registry whose door asks nobody."""
    return lambda _operation, _subject: True


def by_topics(rights: Rights) -> DeciderOf:
    """As the cluster's entries on topics say."""

    async def decider(caller: Caller) -> Decide:
        authorizer = await rights.authorizer()

        def decide(operation: SubjectOperation, subject: Subject | None) -> bool:
            who = caller.principal, caller.host
            asked = f"SCHEMA_{operation.name}"
            if operation in ON_CLUSTER:
                return authorizer.authorize(
                    *who, ON_CLUSTER[operation], ResourceType.CLUSTER, CLUSTER_NAME, asked
                )
            assert subject is not None, "operations on subjects have one"
            name = topic_of(subject)
            return authorizer.authorize(*who, ON_TOPIC[operation], ResourceType.TOPIC, name, asked)

        return decide

    return decider


def topic_of(subject: Subject) -> str:
    """The topic whose keys or values have the subject, by the strategy that clients use by default."""
    return subject.name.removesuffix("-key").removesuffix("-value")


class SubjectRights:
    def __init__(self, ask: Callable[[Callable[[State], Any]], Any], decider: DeciderOf = everything) -> None:
        """`ask` asks the registry's state."""
        self._ask = ask
        self.decider = decider

    async def authorize(self, asked: Asked) -> None:
        """An `Authorize`."""
        access = asked.route.access
        if not isinstance(access, OnSubject) or access.refusal is Refusal.HIDDEN:
            return
        if self.decider is everything:  # what the path names is looked up once, by the handler
            return
        decide = await self.decider(asked.caller)
        if access.operation in ON_CLUSTER:
            allowed = decide(access.operation, None)
        elif "subject" in asked.path:
            allowed = self._on_subject(decide, access.operation, asked.path["subject"])
        else:
            allowed = self._on_schema(decide, asked)
        if not allowed:
            raise denied(str(asked.caller.principal), access.operation.name)

    async def check_references(self, caller: Caller, references: Iterable[ReferenceValue] | None) -> None:
        """A schema may refer only to what its caller may read: answers can hold what it refers to."""
        if not references:
            return
        decide = await self.decider(caller)
        for each in references:
            if not self._on_subject(decide, SubjectOperation.SUBJECT_READ, each.subject):
                raise denied(str(caller.principal), SubjectOperation.SUBJECT_READ.name)

    async def visible(self, caller: Caller, *, names_only: bool = False) -> Callable[[str], bool]:
        """Which subjects a list may show: those that the caller may read. With GLOBAL_READ a list of names
        shows them all."""
        decide = await self.decider(caller)
        if names_only and decide(SubjectOperation.GLOBAL_READ, None):
            return lambda _subject: True
        return lambda subject: decide(SubjectOperation.SUBJECT_READ, parse_subject(subject))

    def _on_subject(self, decide: Decide, operation: SubjectOperation, text: str) -> bool:
        """On the subject, on the one that it is an alias of, and on the one in another context that is
        answered in its place."""
        subject = parse_subject(text)
        if not subject.name:
            return decide(WHOLE.get(operation, SubjectOperation.GLOBAL_READ), None)

        def targets(state: State) -> set[Subject]:
            other = aliased(state, subject)
            return {subject, other, locate(state, other, deleted=True)}

        return all(decide(operation, target) for target in self._ask(targets))

    def _on_schema(self, decide: Decide, asked: Asked) -> bool:
        """A schema by its id or GUID is read by a caller that may read one of the subjects that have it."""

        def holders(state: State) -> list[str]:
            if "id" in asked.path:
                value = find_id(state, asked.path["id"], asked.query.get("subject") or "")
                return [subject for subject, _ in users_of(state, value, deleted=True)]
            values = [value for _, value in state.by_guid(asked.path["guid"]) or ()]
            return [subject for value in values for subject, _ in users_of(state, value, deleted=True)]

        found = self._ask(holders)
        if not found:
            return decide(SubjectOperation.GLOBAL_READ, None)
        return any(decide(SubjectOperation.SUBJECT_READ, parse_subject(subject)) for subject in found)
