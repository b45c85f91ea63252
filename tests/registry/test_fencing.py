"""The log decides which of two writers was first; a record that was overtaken counts for nobody."""

from __future__ import annotations

from penstock.registry.fencing import BEFORE_ALL, HEADER, Fence, Mark, read_mark

ONE, OTHER = b"1" * 16, b"2" * 16


def test_a_decision_that_knew_everything_counts() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL))
    assert fence.passes(1, Mark(OTHER, 0))


def test_a_decision_that_was_overtaken_does_not_count_and_changes_nothing() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL))
    assert not fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.known_offset == 0
    assert fence.passes(2, Mark(OTHER, 0))


def test_the_records_of_one_decision_count_together_whatever_comes_between() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL))
    assert not fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.passes(2, Mark(ONE, BEFORE_ALL))


def test_what_compaction_took_away_overtakes_nobody() -> None:
    fence = Fence()
    assert fence.passes(5, Mark(ONE, 3))
    assert fence.passes(9, Mark(OTHER, 8))


def test_records_of_other_programs_are_always_taken() -> None:
    fence = Fence()
    assert fence.passes(0, None)
    assert not fence.passes(1, Mark(ONE, BEFORE_ALL))


def test_a_mark_comes_back_from_its_header_and_others_are_none() -> None:
    mark = Mark(ONE, 7)
    assert read_mark([("x", b"y"), (HEADER, mark.encode())]) == mark
    assert read_mark([(HEADER, b"short"), (HEADER, None)]) is None
