"""Small lies about a history: one event or one record dropped, repeated, exchanged or altered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from penstock.testing.history import History
from penstock.testing.history.events import (
    Abort,
    Acked,
    Assign,
    Begin,
    Commit,
    Done,
    Event,
    FinalRead,
    Kind,
    Polled,
    ReadRecord,
    ReplicaLog,
    Send,
    Value,
    Watermarks,
)

STRANGER = Value("stranger", 0, 0)

Mutation = Callable[[Random, History], History | None]


def _pick(random: Random, items: list[Any]) -> Any:
    return random.choice(items) if items else None


def _places(history: History, wanted: Callable[[Event], bool]) -> list[int]:
    return [place for place, event in enumerate(history.events) if wanted(event)]


def _with_event(history: History, place: int, *events: Event) -> History:
    return replace(history, events=(*history.events[:place], *events, *history.events[place + 1 :]))


# Events


def drop_event(random: Random, history: History) -> History | None:
    return _with_event(history, random.randrange(len(history.events)))


def repeat_event(random: Random, history: History) -> History | None:
    place = random.randrange(len(history.events))
    return _with_event(history, place, history.events[place], history.events[place])


def exchange_events(random: Random, history: History) -> History | None:
    first, second = sorted(random.sample(range(len(history.events)), 2))
    events = list(history.events)
    events[first], events[second] = events[second], events[first]
    return replace(history, events=tuple(events))


def exchange_neighbours(random: Random, history: History) -> History | None:
    place = random.randrange(len(history.events) - 1)
    events = list(history.events)
    events[place], events[place + 1] = events[place + 1], events[place]
    return replace(history, events=tuple(events))


def alter_ack(random: Random, history: History) -> History | None:
    place = _pick(random, _places(history, lambda event: isinstance(event.body, Acked)))
    if place is None:
        return None
    event = history.events[place]
    moved = Acked(max(0, event.body.offset + random.choice([-1, 1, 7])))
    return _with_event(history, place, event._replace(body=moved))


def alter_outcome(random: Random, history: History) -> History | None:
    """What was committed was aborted, or the other way round."""
    place = _pick(random, _places(history, lambda event: isinstance(event.body, Commit | Abort)))
    if place is None:
        return None
    event = history.events[place]
    other = Abort if isinstance(event.body, Commit) else Commit
    return _with_event(history, place, event._replace(body=other(event.body.transaction)))


def alter_kind(random: Random, history: History) -> History | None:
    """An unknown end becomes a refusal, a success becomes unknown."""
    ends = _places(
        history, lambda event: event.kind is not Kind.INVOKE and not isinstance(event.body, Assign)
    )
    place = _pick(random, ends)
    if place is None:
        return None
    event = history.events[place]
    kind = Kind.FAIL if event.kind is Kind.INFO else Kind.INFO
    return _with_event(history, place, event._replace(kind=kind, body=None))


def alter_partition(random: Random, history: History) -> History | None:
    place = _pick(random, _places(history, lambda event: isinstance(event.body, Send)))
    if place is None:
        return None
    event = history.events[place]
    partition = event.body.partition._replace(number=1 - event.body.partition.number)
    return _with_event(history, place, event._replace(body=event.body._replace(partition=partition)))


def alter_watermark(random: Random, history: History) -> History | None:
    def is_look(event: Event) -> bool:
        return isinstance(event.body, Polled) and bool(event.body.watermarks)

    place = _pick(random, _places(history, is_look))
    if place is None:
        return None
    event = history.events[place]
    seen = event.body.watermarks[0]
    delta = random.choice([-5, -1, 1, 5])
    changed = Watermarks(seen.partition, seen.high_watermark + delta, seen.last_stable_offset + delta)
    return _with_event(history, place, event._replace(body=Polled(event.body.records, (changed,))))


# Records in polls, final reads and replicas


def _mutate_records(random: Random, records: tuple[ReadRecord, ...]) -> tuple[ReadRecord, ...]:
    items = list(records)
    place = random.randrange(len(items))
    match random.randrange(5):
        case 0:
            del items[place]
        case 1:
            items.insert(place, items[place])
        case 2:
            other = random.randrange(len(items))
            items[place], items[other] = items[other], items[place]
        case 3:
            value = random.choice([STRANGER, b"flipped", random.choice(items).value])
            items[place] = items[place]._replace(value=value)
        case _:
            items.append(items[place]._replace(offset=items[-1].offset + 1))
    return tuple(items)


def alter_poll(random: Random, history: History) -> History | None:
    def has_records(event: Event) -> bool:
        return isinstance(event.body, Polled) and bool(event.body.records)

    place = _pick(random, _places(history, has_records))
    if place is None:
        return None
    event = history.events[place]
    records = _mutate_records(random, event.body.records)
    return _with_event(history, place, event._replace(body=event.body._replace(records=records)))


def _alter_one(random: Random, logs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    chosen: FinalRead | ReplicaLog | None = _pick(random, [log for log in logs if log.records])
    if chosen is None:
        return None
    altered = chosen._replace(records=_mutate_records(random, chosen.records))
    return tuple(altered if log is chosen else log for log in logs)


def alter_final(random: Random, history: History) -> History | None:
    finals = _alter_one(random, history.finals)
    return None if finals is None else replace(history, finals=finals)


def alter_replica(random: Random, history: History) -> History | None:
    replicas = _alter_one(random, history.replicas)
    return None if replicas is None else replace(history, replicas=replicas)


MUTATIONS: tuple[Mutation, ...] = (
    drop_event,
    repeat_event,
    exchange_events,
    exchange_neighbours,
    alter_ack,
    alter_outcome,
    alter_kind,
    alter_partition,
    alter_watermark,
    alter_poll,
    alter_final,
    alter_replica,
)


def weaken(random: Random, history: History) -> History:
    """Forget what some clients were told: a history of which less is known breaks no promise."""

    def forget(event: Event) -> Event:
        told = event.kind is Kind.OK and isinstance(event.body, Acked | Polled | Done)
        return event._replace(kind=Kind.INFO, body=None) if told and random.random() < 0.3 else event

    begins = {event.operation for event in history.events if isinstance(event.body, Begin)}
    events = tuple(event if event.operation in begins else forget(event) for event in history.events)
    return replace(history, events=events)
