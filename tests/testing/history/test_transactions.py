"""Rules 4 and 10 to 13: transactions, their offsets, and money."""

from __future__ import annotations

from itertools import pairwise

from penstock.testing.history import Rule, check
from penstock.testing.history.events import Reset, Source
from tests.testing.history.story import COMMITTED, P0, P1, Story


def test_a_committed_and_an_aborted_transaction_keep_every_promise() -> None:
    story = Story()
    story.begin("a", 1)
    story.send("a1.1", 0)
    story.send("a1.2", 0, P1)
    story.commit("a", 1)
    story.send("a2.1", 2)
    story.abort("a", 2)
    story.poll("c", {0: "a1.1"}, isolation=COMMITTED)
    story.poll("d", {0: "a1.1", 2: "a2.1"})
    story.final({0: "a1.1", 2: "a2.1"})
    story.final({0: "a1.1"}, isolation=COMMITTED)
    story.both_finals({0: "a1.2"}, P1)
    assert story.broken() == set()


def test_rule_4_an_aborted_value_is_polled() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.abort("a", 1)
    story.poll("c", {0: "a1.1"}, isolation=COMMITTED)
    story.final({}, isolation=COMMITTED)
    assert story.broken() == {Rule.NO_ABORTED_READ}


def test_rule_4_an_aborted_value_is_there_at_the_end() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.abort("a", 1)
    story.both_finals({0: "a1.1"})
    assert story.broken() == {Rule.NO_ABORTED_READ}


def test_rule_4_a_value_is_seen_before_its_transaction_commits() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.poll("c", {0: "a1.1"}, isolation=COMMITTED)
    story.commit("a", 1)
    story.both_finals({0: "a1.1"})
    assert story.broken() == {Rule.NO_ABORTED_READ}


def test_rule_4_a_client_that_died_never_committed() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.both_finals({0: "a1.1"})
    assert story.broken() == {Rule.NO_ABORTED_READ}


def test_rule_4_a_commit_that_nobody_heard_of_may_be_seen_or_not() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.wonder("a", 1)
    story.send("a2.1", 2)
    story.wonder("a", 2)
    story.final({0: "a1.1", 2: "a2.1"})
    story.final({2: "a2.1"}, isolation=COMMITTED)
    assert story.broken() == set()


def test_rule_10_half_of_a_committed_transaction_is_missing() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.send("a1.2", 0, P1)
    story.commit("a", 1)
    story.both_finals({0: "a1.1"})
    story.final({0: "a1.2"}, P1)
    story.final({}, P1, COMMITTED)
    (violation,) = check(story.history())
    assert violation.rule is Rule.ALL_OR_NOTHING
    assert violation.partition == P1
    assert violation.values == (("a", 1, 2),)


def test_rule_10_all_of_a_committed_transaction_is_missing() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.commit("a", 1)
    story.final({0: "a1.1"})
    story.final({}, isolation=COMMITTED)
    assert story.broken() == {Rule.ALL_OR_NOTHING}


def test_rule_10_an_unknown_transaction_is_there_in_half() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.send("a1.2", 0, P1)
    story.wonder("a", 1)
    story.both_finals({0: "a1.1"})
    story.final({}, P1, COMMITTED)
    assert story.broken() == {Rule.ALL_OR_NOTHING}


def test_rule_10_a_transaction_ends_in_both_ways() -> None:
    story = Story()
    story.send("a1.1", 0)
    story.commit("a", 1)
    story.abort("a", 1)
    story.both_finals({0: "a1.1"})
    assert story.broken() == {Rule.ALL_OR_NOTHING}


def copy(story: Story, *, inputs: int, taken: list[tuple[int, int]]) -> Story:
    """A copy of P0 to P1; each pair is one transaction, from an offset to below another."""
    for offset in range(inputs):
        story.send(f"i{offset}", offset)
    story.final({offset: f"i{offset}" for offset in range(inputs)})
    position = 0
    outputs: dict[int, str] = {}
    for number, (begin, end) in enumerate(taken, start=1):
        for offset in range(begin, end):
            text = f"c{number}.{offset}"
            story.send(text, position, P1, source=Source("g", P0, offset))
            outputs[position] = text
            position += 1
        story.commit_offset("c", end, transaction=number)
        story.commit("c", number)
        position += 1
    story.both_finals(outputs, P1)
    return story


def test_rule_11_a_copy_that_is_exact() -> None:
    story = copy(Story(), inputs=5, taken=[(0, 2), (2, 4)])
    story.ends_with_offset(4)
    assert story.broken() == set()


def test_rule_11_an_input_is_copied_twice() -> None:
    story = copy(Story(), inputs=5, taken=[(0, 2), (1, 4)])
    story.ends_with_offset(4)
    assert story.broken() == {Rule.OFFSETS_MATCH_OUTPUT}


def test_rule_11_an_input_is_left_out() -> None:
    story = copy(Story(), inputs=5, taken=[(0, 2), (3, 4)])
    story.ends_with_offset(4)
    assert story.broken() == {Rule.OFFSETS_MATCH_OUTPUT}


def test_rule_11_the_offset_is_behind_the_output() -> None:
    story = copy(Story(), inputs=5, taken=[(0, 2), (2, 4)])
    story.ends_with_offset(2)
    assert story.broken() == {Rule.OFFSETS_MATCH_OUTPUT}


def test_rule_11_one_input_may_become_several_records_of_one_transaction() -> None:
    story = Story()
    story.send("i0", 0)
    story.final({0: "i0"})
    story.send("c1.1", 0, P1, source=Source("g", P0, 0))
    story.send("c1.2", 1, P1, source=Source("g", P0, 0))
    story.commit_offset("c", 1, transaction=1)
    story.commit("c", 1)
    story.both_finals({0: "c1.1", 1: "c1.2"}, P1)
    story.ends_with_offset(1)
    assert story.broken() == set()


def test_rule_11_offsets_of_an_aborted_transaction_do_not_count() -> None:
    story = Story()
    story.commit_offset("c", 5, transaction=1)
    story.commit("c", 1)
    story.commit_offset("c", 9, transaction=2)
    story.abort("c", 2)
    story.ends_with_offset(9)
    assert story.broken() == {Rule.OFFSETS_MATCH_OUTPUT}


def test_rule_11_an_unknown_transaction_without_records_may_have_moved_the_offset() -> None:
    for offset in (5, 9):
        story = Story()
        story.commit_offset("c", 5, transaction=1)
        story.commit("c", 1)
        story.commit_offset("c", 9, transaction=2)
        story.wonder("c", 2)
        story.ends_with_offset(offset)
        assert story.broken() == set()


def test_rule_11_an_unknown_transaction_is_known_by_its_records() -> None:
    for offset, broken in ((9, set()), (5, {Rule.OFFSETS_MATCH_OUTPUT})):
        story = Story()
        story.commit_offset("c", 5, transaction=1)
        story.commit("c", 1)
        story.send("c2.1", 0, P1)
        story.commit_offset("c", 9, transaction=2)
        story.wonder("c", 2)
        story.both_finals({0: "c2.1"}, P1)
        story.ends_with_offset(offset)
        assert story.broken() == broken


def test_rule_11_a_reset_is_a_commit_too() -> None:
    story = Story()
    story.commit_offset("c", 5, transaction=1)
    story.commit("c", 1)
    story.recorder.fact("admin", Reset("g", P0, 0))
    story.ends_with_offset(0)
    assert story.broken() == set()


def circle(story: Story, clients: str, *, closed: bool) -> Story:
    """Each client's transaction reads what the one before it wrote; closed, the first reads the last."""
    for offset, client in enumerate(clients):
        story.send(f"{client}1.1", 2 * offset)
    for client in clients:
        story.wonder(client, 1)  # asked to commit, so that its records may be seen
    pairs = [*pairwise(range(len(clients))), *([(len(clients) - 1, 0)] if closed else [])]
    for writer, reader in pairs:
        story.poll(clients[reader], {2 * writer: f"{clients[writer]}1.1"}, isolation=COMMITTED, transaction=1)
    story.both_finals({2 * offset: f"{client}1.1" for offset, client in enumerate(clients)})
    return story


def test_rule_12_two_transactions_read_from_each_other() -> None:
    (violation,) = check(circle(Story(), "ab", closed=True).history())
    assert violation.rule is Rule.NO_READ_CYCLE
    assert set(violation.values) == {("a", 1, 1), ("b", 1, 1)}


def test_rule_12_a_longer_circle() -> None:
    (violation,) = check(circle(Story(), "abcde", closed=True).history())
    assert violation.rule is Rule.NO_READ_CYCLE
    assert len(violation.values) == 5


def test_rule_12_a_line_is_no_circle() -> None:
    assert circle(Story(), "abcde", closed=False).broken() == set()


def test_rule_12_interleaved_writes_alone_are_legal() -> None:
    story = Story()
    for offset, text in enumerate(("a1.1", "b1.1")):
        story.send(text, offset)
    for offset, text in enumerate(("b1.2", "a1.2")):
        story.send(text, offset, P1)
    story.commit("a", 1)
    story.commit("b", 1)
    story.both_finals({0: "a1.1", 1: "b1.1"})
    story.both_finals({0: "b1.2", 1: "a1.2"}, P1)
    assert story.broken() == set()


def transfers(story: Story) -> Story:
    story.total = 100
    story.send("a1.1", 0, key=b"x", amount=60)
    story.send("a1.2", 1, key=b"y", amount=40)
    story.commit("a", 1)
    story.send("a2.1", 3, key=b"x", amount=-10)
    story.send("a2.2", 4, key=b"y", amount=10)
    return story


def test_rule_13_transfers_keep_the_total() -> None:
    story = transfers(Story())
    story.commit("a", 2)
    story.both_finals({0: "a1.1", 1: "a1.2", 3: "a2.1", 4: "a2.2"})
    assert story.broken() == set()


def test_rule_13_half_a_transfer_changes_the_total() -> None:
    story = transfers(Story())
    story.wonder("a", 2)
    story.final({0: "a1.1", 1: "a1.2", 3: "a2.1", 4: "a2.2"})
    story.final({0: "a1.1", 1: "a1.2", 3: "a2.1"}, isolation=COMMITTED)
    assert story.broken() == {Rule.ALL_OR_NOTHING, Rule.TOTAL_IS_KEPT}


def test_rule_13_a_wrong_transfer_changes_the_total() -> None:
    story = transfers(Story())
    story.send("a2.3", 5, key=b"y", amount=1)
    story.commit("a", 2)
    story.both_finals({0: "a1.1", 1: "a1.2", 3: "a2.1", 4: "a2.2", 5: "a2.3"})
    assert story.broken() == {Rule.TOTAL_IS_KEPT}
