"""The checker against a perfect model, against lies about it, and against a slow checker that is plainly
right."""

from __future__ import annotations

import gc
import time
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.history import History, MalformedHistory, Rule, assert_kept, check
from penstock.testing.history.events import (
    Acked,
    Event,
    FinalRead,
    Isolation,
    Kind,
    Partition,
    Poll,
    Polled,
    ReadRecord,
    Send,
    Value,
)
from tests.testing.history.mutations import MUTATIONS, Mutation, weaken
from tests.testing.history.naive_oracle import Oracle
from tests.testing.history.perfect_model import Play

SEEDS = st.integers(0, 2**32)
SIZES = st.integers(1, 8)


@given(SEEDS, SIZES, st.integers(2, 12))
def test_histories_of_a_perfect_model_pass(seed: int, clients: int, operations: int) -> None:
    assert_kept(Play(seed, clients=clients, operations=operations).history())


@given(SEEDS, SIZES)
def test_a_history_of_which_less_is_known_passes(seed: int, clients: int) -> None:
    assert_kept(weaken(Random(seed), Play(seed, clients=clients).history()))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(seed=SEEDS, clients=SIZES)
def test_a_lie_breaks_the_rules_that_a_plain_reading_says_it_breaks(
    mutation: Mutation, seed: int, clients: int
) -> None:
    random = Random(seed)
    history = Play(seed, clients=clients, operations=6).history()
    mutated = mutation(random, history)
    if mutated is not None:
        agree(mutated)


def agree(history: History) -> None:
    """Checker and oracle say the same; both leave a history alone that contradicts itself."""
    try:
        found = {violation.rule for violation in check(history)}
    except MalformedHistory:
        return
    expected = Oracle(history).broken()
    assert found & set(ORACLES_RULES) == expected, sorted(map(str, check(history)))


ORACLES_RULES = tuple(rule for rule in Rule if rule.value in map(str, range(1, 11)))


def test_most_lies_are_caught() -> None:
    """Of lies that touch what somebody was told, not those that only say less."""
    caught: Counter[str] = Counter()
    for seed in range(60):
        history = Play(seed, clients=8, operations=6).history()
        for mutation in MUTATIONS:
            mutated = mutation(Random(seed), history)
            if mutated is not None:
                caught[mutation.__name__] += is_caught(mutated)
    for name in ("alter_ack", "alter_final", "alter_poll", "repeat_event"):
        assert caught[name] >= 40, caught
    for name in ("alter_partition", "alter_outcome", "alter_replica", "alter_watermark"):
        assert caught[name] >= 20, caught


def is_caught(history: History) -> bool:
    try:
        return bool(check(history))
    except MalformedHistory:
        return True


@given(SEEDS)
def test_a_committed_offset_that_moves_is_noticed(seed: int) -> None:
    history = Play(seed, clients=8).history()
    for place, committed in enumerate(history.committed):
        moved = committed._replace(offset=committed.offset + Random(seed).choice([-1, 1]))
        changed = (*history.committed[:place], moved, *history.committed[place + 1 :])
        rules = {violation.rule for violation in check(replace(history, committed=changed))}
        assert rules & {Rule.OFFSETS_MATCH_OUTPUT}


@given(SEEDS)
def test_an_amount_that_changes_is_noticed(seed: int) -> None:
    history = Play(seed, clients=2).history()
    committed = {
        record.value
        for final in history.finals
        for record in final.records
        if final.isolation is Isolation.READ_COMMITTED
    }
    for place, event in enumerate(history.events):
        if isinstance(event.body, Send) and event.body.amount and event.body.value in committed:
            wrong = event._replace(body=event.body._replace(amount=event.body.amount + 1))
            events = (*history.events[:place], wrong, *history.events[place + 1 :])
            rules = {violation.rule for violation in check(replace(history, events=events))}
            assert rules == {Rule.TOTAL_IS_KEPT}
            return


@pytest.mark.long
def test_ten_times_the_events_take_about_ten_times_as_long() -> None:
    """Judging must not grow with the square of a history. Compares times, so in the long form only."""
    small, large = seconds_to_judge(100_000), seconds_to_judge(1_000_000)
    print(f"a million events in {large:.1f} s of processor time")
    assert large < 40 * small


def seconds_to_judge(size: int) -> float:
    history = large_history(size)
    gc.disable()  # it looks through whatever else this process holds
    try:
        began = time.thread_time()
        assert check(history) == []
        return time.thread_time() - began
    finally:
        gc.enable()


def large_history(size: int) -> History:
    """Four clients that send side by side, and one that polls a thousand records at a time."""
    partitions = [Partition("t", number) for number in range(4)]
    events: list[Event] = []
    logs: dict[Partition, list[ReadRecord]] = {partition: [] for partition in partitions}
    for number in range(size // 2 - size // 1000):
        client, partition = f"p{number % 4}", partitions[number % 4]
        value, log = Value(client, 0, number), logs[partition]
        events.append(Event(Kind.INVOKE, number, client, Send(partition, value), 0.0))
        events.append(Event(Kind.OK, number, client, Acked(len(log)), 0.0))
        log.append(ReadRecord(partition, len(log), value))
        if len(log) % 1000 == 0:
            events.append(Event(Kind.INVOKE, -number, "c", Poll(), 0.0))
            events.append(Event(Kind.OK, -number, "c", Polled(tuple(log[-1000:])), 0.0))
    finals = tuple(
        FinalRead(partition, tuple(log), len(log), Isolation.READ_UNCOMMITTED)
        for partition, log in logs.items()
    )
    return History(tuple(events), finals)
