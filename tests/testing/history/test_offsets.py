"""Rules 1, 2, 3 and 5: each broken by hand, and the near miss beside it."""

from __future__ import annotations

import pytest

from penstock.testing.history import MalformedHistory, Rule, check
from tests.testing.history.story import COMMITTED, P0, P1, Story


def test_an_ordinary_history_keeps_every_promise() -> None:
    story = Story()
    story.send("a1", 0)
    story.send("b1", 1)
    story.poll("c", {0: "a1", 1: "b1"})
    story.final({0: "a1", 1: "b1"})
    assert story.broken() == set()


def test_rule_1_two_values_at_one_offset() -> None:
    story = Story()
    story.lose("a1")
    story.lose("b1")
    story.poll("c", {0: "a1"})
    story.final({0: "b1"})
    assert story.broken() == {Rule.ONE_VALUE_PER_OFFSET}


def test_rule_1_two_acknowledgements_of_one_offset() -> None:
    story = Story()
    first, second = story.invoke("a1"), story.invoke("b1")
    story.ack(first, 0)
    story.ack(second, 0)
    story.final({0: "a1", 1: "b1"})
    assert Rule.ONE_VALUE_PER_OFFSET in story.broken()


def test_rule_1_replicas_differ_below_the_high_watermark() -> None:
    story = Story()
    story.lose("b1")
    story.send("a1", 0)
    story.final({0: "a1"})
    story.replica(2, {0: "b1"}, high=1)
    assert story.broken() == {Rule.ONE_VALUE_PER_OFFSET}


def test_rule_1_replicas_may_differ_above_the_high_watermark() -> None:
    story = Story()
    story.send("a1", 0)
    story.lose("b1")
    story.final({0: "a1"})
    story.replica(1, {0: "a1"}, high=1)
    story.replica(2, {0: "a1", 1: "b1"}, high=1)
    assert story.broken() == set()


def test_rule_1_a_hole_in_a_replica() -> None:
    story = Story()
    for offset in range(3):
        story.send(f"a{offset}", offset)
    story.final({0: "a0", 1: "a1", 2: "a2"})
    story.replica(1, {0: "a0", 2: "a2"}, high=3)
    assert story.broken() == {Rule.ONE_VALUE_PER_OFFSET}


def test_rule_2_an_acknowledged_value_is_lost() -> None:
    story = Story()
    story.send("a1", 0)
    story.send("a2", 1)
    story.final({0: "a1"})
    (violation,) = check(story.history())
    assert violation.rule is Rule.ACKED_IS_THERE
    assert violation.partition == P0
    assert violation.offsets == (1,)
    assert violation.events == (2, 3)
    assert "a/0/2 was acknowledged at offset 1 and is lost" in str(violation)


def test_rule_2_an_acknowledged_value_is_elsewhere() -> None:
    story = Story()
    story.send("a1", 1)
    story.final({0: "a1"})
    (violation,) = check(story.history())
    assert violation.rule is Rule.ACKED_IS_THERE
    assert "stands at offset 0" in str(violation)


def test_rule_2_an_acknowledgement_without_an_offset_counts() -> None:
    story = Story()
    story.send("a1", None)
    story.final({})
    assert story.broken() == {Rule.ACKED_IS_THERE}


def test_rule_2_an_unknown_value_may_be_lost_or_there() -> None:
    story = Story()
    story.lose("a1")
    story.lose("a2")
    story.invoke("a3")  # its client died
    story.final({0: "a1"})
    assert story.broken() == set()


def test_rule_2_retention_may_remove_the_beginning() -> None:
    story = Story()
    story.send("a1", 0)
    story.send("a2", 1)
    story.final({1: "a2"}, start=1)
    assert story.broken() == set()


def test_rule_2_cannot_be_judged_without_a_final_read() -> None:
    story = Story()
    story.send("a1", 0)
    with pytest.raises(MalformedHistory, match="no final read"):
        story.broken()


def test_rule_2_a_compacted_topic_keeps_the_last_of_each_key() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.send("a2", 1, key=b"k")
    story.send("a3", 2, key=b"other")
    story.final({1: "a2", 2: "a3"}, keys={1: b"k", 2: b"other"})
    assert story.broken() == set()


def test_rule_2_a_compacted_topic_lost_the_last_of_a_key() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.send("a2", 1, key=b"k")
    story.final({0: "a1"}, keys={0: b"k"})
    assert story.broken() == {Rule.ACKED_IS_THERE}


def test_rule_2_an_unknown_later_record_may_replace_the_last_of_a_key() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.lose("a2", key=b"k")
    story.final({1: "a2"}, keys={1: b"k"})
    assert story.broken() == set()


def test_rule_2_an_aborted_record_does_not_replace_the_last_of_a_key() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.send("b1.1", 1, key=b"k")
    story.abort("b", 1)
    story.final({1: "b1.1"}, keys={1: b"k"})
    story.final({}, isolation=COMMITTED)
    assert story.broken() == {Rule.ACKED_IS_THERE}


def test_rule_2_a_tombstone_may_go_with_all_that_came_before() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.send("a2", 1, key=b"k", tombstone=True)
    story.final({})
    assert story.broken() == set()


def test_rule_2_a_tombstone_is_gone_and_the_value_is_back() -> None:
    story = Story()
    story.compacted = ["t"]
    story.send("a1", 0, key=b"k")
    story.send("a2", 1, key=b"k", tombstone=True)
    story.final({0: "a1"}, keys={0: b"k"})
    assert story.broken() == {Rule.ACKED_IS_THERE}


@pytest.mark.parametrize("text", ["z9", "garbage!"])
def test_rule_3_something_is_read_that_nobody_sent(text: str) -> None:
    story = Story()
    story.final({0: text})
    assert story.broken() == {Rule.READ_WAS_SENT}


def test_rule_3_a_value_is_read_from_another_partition() -> None:
    story = Story()
    story.lose("a1", P1)
    story.poll("c", {0: "a1"}, P0)
    assert story.broken() == {Rule.READ_WAS_SENT}


def test_rule_3_a_refused_value_is_read() -> None:
    story = Story()
    story.refuse("a1")
    story.final({0: "a1"})
    assert story.broken() == {Rule.READ_WAS_SENT}


def test_rule_3_a_value_is_read_before_it_was_sent() -> None:
    story = Story()
    story.poll("c", {0: "a1"})
    story.send("a1", 0)
    story.final({0: "a1"})
    assert story.broken() == {Rule.READ_WAS_SENT}


def test_rule_3_a_value_may_be_read_before_it_is_acknowledged() -> None:
    story = Story()
    operation = story.invoke("a1")
    story.poll("c", {0: "a1"})
    story.ack(operation, 0)
    story.final({0: "a1"})
    assert story.broken() == set()


def test_rule_5_an_idempotent_producer_is_there_twice() -> None:
    story = Story()
    story.send("a1", 0)
    story.final({0: "a1", 1: "a1"})
    assert story.broken() == {Rule.NO_DUPLICATE}


def test_rule_5_another_producer_may_be_there_twice() -> None:
    story = Story()
    story.send("a1", 0, idempotent=False)
    story.final({0: "a1", 1: "a1"})
    assert story.broken() == set()


def test_a_value_that_is_sent_twice_is_a_mistake_of_the_test() -> None:
    story = Story()
    story.lose("a1")
    story.lose("a1")
    with pytest.raises(MalformedHistory, match="twice"):
        story.broken()
