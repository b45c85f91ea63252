"""Which brokers hold the replicas of new partitions: spread over racks first, over brokers second. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest

from penstock.controller.image import BrokerState
from penstock.protocol.errors import ErrorCode, KafkaError


def place_replicas(
    count: int, factor: int, brokers: Iterable[BrokerState], *, start: int = 0
) -> list[tuple[int, ...]]:
    """The replicas of `count` partitions, the preferred leader first. Leaders go round the active brokers
    from `start` on; the replicas of one partition are in as many racks as there are, and a rack gets a second
    one only when all have one. Fenced brokers hold replicas only where the others do not suffice, and never
    lead."""
    usable = sorted(brokers, key=lambda broker: broker.broker_id)
    active = _by_turns([broker for broker in usable if broker.is_active])
    fenced = _by_turns([broker for broker in usable if not broker.is_active])
    if factor <= 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if not active or factor > len(usable):
        why = (
            "all brokers are currently fenced."
            if usable and not active
            else (f"only {len(usable)} broker(s) are registered.")
        )
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} "
            f"cannot be reached because {why}",
        )
    return [_place_one(start + index, factor, active, fenced) for index in range(count)]


def _place_one(
    turn: int, factor: int, active: list[BrokerState], fenced: list[BrokerState]
) -> tuple[int, ...]:
    shift = turn % len(active)
    # Each time round, followers begin one further: a failed broker leaves its load to all, not to one.
    leader, others = active[shift], active[shift + 1 :] + active[:shift]
    skip = (turn // len(active)) % max(1, len(others))
    candidates = others[skip:] + others[:skip] + fenced
    chosen = [leader]
    while len(chosen) < factor:
        chosen.append(min(candidates, key=lambda broker: _cost(broker, chosen, candidates)))
        candidates.remove(chosen[-1])
    return tuple(broker.broker_id for broker in chosen)


def _cost(
    broker: BrokerState, chosen: list[BrokerState], candidates: list[BrokerState]
) -> tuple[bool, int, int]:
    same_rack = sum(other.rack == broker.rack for other in chosen)
    return not broker.is_active, same_rack, candidates.index(broker)


def _by_turns(brokers: list[BrokerState]) -> list[BrokerState]:
    """One of each rack, then the next of each: neighbours are in different racks."""
    racks: dict[str | None, list[BrokerState]] = defaultdict(list)
    for broker in brokers:
        racks[broker.rack].append(broker)
    turns = zip_longest(*(racks[rack] for rack in sorted(racks, key=lambda rack: rack or "")))
    return [broker for turn in turns for broker in turn if broker is not None]
