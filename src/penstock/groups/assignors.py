"""The assignors of the server, by name."""

from __future__ import annotations

from typing import Final

from penstock.groups import range_assignor, uniform_assignor
from penstock.groups.assignor import Assign

ASSIGNORS: Final[dict[str, Assign]] = {
    uniform_assignor.NAME: uniform_assignor.assign,
    range_assignor.NAME: range_assignor.assign,
}
"""`group.consumer.assignors` may also name Kafka's classes; see `resolve`."""

_JAVA_PREFIX: Final = "org.apache.kafka.coordinator.group.assignor."
_JAVA: Final = {f"{_JAVA_PREFIX}UniformAssignor": "uniform", f"{_JAVA_PREFIX}RangeAssignor": "range"}


def resolve(names: tuple[str, ...]) -> dict[str, Assign]:
    """The assignors that a broker offers, the default first."""
    known = {_JAVA.get(name, name): None for name in names}
    return {name: ASSIGNORS[name] for name in known if name in ASSIGNORS} or dict(ASSIGNORS)
