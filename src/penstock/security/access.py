"""What an API or an HTTP route asks for, declared beside it as data.

An API's module has `ACCESS` beside `VERSIONS`; a `web` route has `access` beside its path. A house test walks
both tables, so nothing is served that asks nobody. The declaration documents what the handler's code asks;
`tests/handlers/test_access.py` compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from penstock.security.operations import Operation, ResourceType


class Refusal(Enum):
    """What happens when the answer is no."""

    REQUEST = "the whole request is refused"
    EACH = "each named resource is refused by itself, the others are served"
    HIDDEN = "the resource is left out of the answer, as if it did not exist"


@dataclass(frozen=True, slots=True)
class Access:
    """One question to the authorizer: this operation on this kind of resource."""

    operation: Operation
    resource: ResourceType
    refusal: Refusal = Refusal.REQUEST
    when: str = ""
    """Which requests ask it; empty means all of them."""


@dataclass(frozen=True, slots=True)
class Open:
    """Nobody is asked, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class ByBroker:
    """A service acts for its caller, and the broker's own ACLs decide."""

    operation: Operation
    resource: ResourceType


class SubjectOperation(Enum):
    """What can be done in a Schema Registry, with the names of Confluent's ACLs."""

    SUBJECT_READ = "SUBJECT_READ"
    SUBJECT_WRITE = "SUBJECT_WRITE"
    SUBJECT_DELETE = "SUBJECT_DELETE"
    SUBJECT_COMPATIBILITY_READ = "SUBJECT_COMPATIBILITY_READ"
    SUBJECT_COMPATIBILITY_WRITE = "SUBJECT_COMPATIBILITY_WRITE"
    GLOBAL_READ = "GLOBAL_READ"
    GLOBAL_COMPATIBILITY_READ = "GLOBAL_COMPATIBILITY_READ"
    GLOBAL_COMPATIBILITY_WRITE = "GLOBAL_COMPATIBILITY_WRITE"


@dataclass(frozen=True, slots=True)
class OnSubject:
    """The registry's own rights decide, for the subject in the path or for all of them."""

    operation: SubjectOperation
    refusal: Refusal = Refusal.REQUEST


ApiAccess = tuple[Access, ...] | Open
RouteAccess = Access | ByBroker | OnSubject | Open

CLUSTER_ACTION: Final[ApiAccess] = (Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),)
"""For nodes of the cluster among themselves."""
