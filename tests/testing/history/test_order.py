"""Rules 6 to 9: the order of the log, of polls and of watermarks."""

from __future__ import annotations

import pytest

from penstock.testing.history import Rule, check
from penstock.testing.history.events import Assign, Poll, Polled, Revoke, Watermarks
from tests.testing.history.story import COMMITTED, P0, P1, Story


def test_rule_6_a_later_record_stands_before_an_acknowledged_one() -> None:
    story = Story()
    story.send("a1", 1)
    story.send("b1", 0)
    story.final({0: "b1", 1: "a1"})
    assert story.broken() == {Rule.REAL_TIME_ORDER}


def test_rule_6_an_unacknowledged_record_stands_before_an_acknowledged_one() -> None:
    story = Story()
    story.send("a1", 1)
    story.lose("b1")
    story.final({0: "b1", 1: "a1"})
    assert story.broken() == {Rule.REAL_TIME_ORDER}


def test_rule_6_records_under_way_at_once_stand_in_any_order() -> None:
    story = Story()
    first, second = story.invoke("a1"), story.invoke("b1")
    story.ack(first, 1)
    story.ack(second, 0)
    story.final({0: "b1", 1: "a1"})
    assert story.broken() == set()


def test_rule_6_partitions_have_no_order_between_them() -> None:
    story = Story()
    for number in range(5):
        story.send(f"a{number}", number)
    story.send("b1", 0, P1)
    story.final({number: f"a{number}" for number in range(5)})
    story.final({0: "b1"}, P1)
    assert story.broken() == set()


def test_rule_7_a_producer_is_out_of_order() -> None:
    story = Story()
    first, second = story.invoke("a1"), story.invoke("a2")
    story.ack(first, 1)
    story.ack(second, 0)
    story.final({0: "a2", 1: "a1"})
    assert story.broken() == {Rule.PRODUCER_ORDER}


def test_rule_7_unknown_records_are_in_order_too() -> None:
    story = Story()
    story.lose("a1")
    story.lose("a2")
    story.final({0: "a2", 1: "a1"})
    assert story.broken() == {Rule.PRODUCER_ORDER}


def test_rule_7_a_producer_without_sequence_numbers_promises_no_order() -> None:
    story = Story()
    story.lose("a1", idempotent=False)
    story.lose("a2", idempotent=False)
    story.lose("a3", idempotent=False)
    story.final({0: "a2", 1: "a1"})
    assert story.broken() == set()


def three(story: Story) -> Story:
    for offset in range(3):
        story.send(f"a{offset}", offset)
    story.final({offset: f"a{offset}" for offset in range(3)})
    return story


def test_rule_8_a_poll_leaves_something_out() -> None:
    story = three(Story())
    story.poll("c", {0: "a0", 2: "a2"})
    (violation,) = check(story.history())
    assert violation.rule is Rule.CONTIGUOUS_POLLS
    assert violation.offsets == (0, 1, 2)


def test_rule_8_the_next_poll_leaves_something_out() -> None:
    story = three(Story())
    story.poll("c", {0: "a0"})
    story.poll("c", {2: "a2"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


def test_rule_8_a_poll_goes_back() -> None:
    story = three(Story())
    story.poll("c", {0: "a0", 1: "a1"})
    story.poll("c", {1: "a1"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


def test_rule_8_an_assignment_begins_where_it_says() -> None:
    story = three(Story())
    story.recorder.fact("c", Assign(P0, start=0))
    story.poll("c", {1: "a1"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


@pytest.mark.parametrize("between", [Assign(P0), Revoke(P0), Assign(P0, start=0)])
def test_rule_8_another_assignment_begins_anew(between: Assign | Revoke) -> None:
    story = three(Story())
    story.poll("c", {0: "a0", 1: "a1"})
    story.recorder.fact("c", between)
    story.poll("c", {0: "a0"})
    assert story.broken() == set()


def test_rule_8_a_subscribed_consumer_may_skip_but_not_go_back() -> None:
    story = three(Story())
    story.recorder.fact("c", Assign(P0, group="g", subscribed=True))
    story.poll("c", {0: "a0", 2: "a2"})
    assert story.broken() == set()
    story.poll("c", {1: "a1"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


def test_rule_8_markers_and_aborted_records_are_no_gap_under_read_committed() -> None:
    story = Story()
    story.send("a1", 0)
    story.send("b1.1", 1)
    story.abort("b", 1)  # its marker is at 2
    story.send("a2", 3)
    story.final({0: "a1", 1: "b1.1", 3: "a2"})
    story.final({0: "a1", 3: "a2"}, isolation=COMMITTED)
    story.poll("c", {0: "a1", 3: "a2"}, isolation=COMMITTED)
    assert story.broken() == set()
    story.poll("d", {0: "a1", 3: "a2"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


def test_rule_8_a_final_read_goes_forwards() -> None:
    story = Story()
    story.lose("a1")
    story.lose("b1")
    story.final({1: "b1", 0: "a1"})
    assert story.broken() == {Rule.CONTIGUOUS_POLLS}


def test_rule_9_the_high_watermark_goes_back() -> None:
    story = Story()
    story.look(5)
    story.look(4)
    assert story.broken() == {Rule.WATERMARKS_GROW}


def test_rule_9_the_last_stable_offset_goes_back() -> None:
    story = Story()
    story.look(5, stable=3)
    story.look(5, stable=2)
    assert story.broken() == {Rule.WATERMARKS_GROW}


def test_rule_9_the_last_stable_offset_is_above_the_high_watermark() -> None:
    story = Story()
    story.look(5, stable=6)
    assert story.broken() == {Rule.WATERMARKS_GROW}


def test_rule_9_the_log_ends_below_what_was_seen() -> None:
    story = Story()
    story.look(1)
    story.final({})
    assert story.broken() == {Rule.WATERMARKS_GROW}


def test_rule_9_answers_under_way_at_once_may_overtake_each_other() -> None:
    story = Story()
    first = story.recorder.invoke("w", Poll())
    second = story.recorder.invoke("x", Poll())
    story.recorder.ok(second, Polled((), (Watermarks(P0, 5),)))
    story.recorder.ok(first, Polled((), (Watermarks(P0, 4),)))
    assert story.broken() == set()
    story.look(4)
    assert story.broken() == {Rule.WATERMARKS_GROW}
