"""The log decides which of two decisions was first, and compaction does not change what came of it."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from penstock.client.fencing import BEFORE_ALL, HEADER, THIS_RECORD, Fence, Mark, read_mark

ONE, OTHER, THIRD = b"1" * 16, b"2" * 16, b"3" * 16


def test_a_decision_that_knew_everything_counts() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL))
    assert fence.passes(1, Mark(OTHER, 0))


def test_a_decision_that_was_overtaken_does_not_count_and_changes_nothing() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL))
    assert not fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.latest == 0
    assert fence.passes(2, Mark(OTHER, 0))


def test_the_records_of_one_decision_count_together_whatever_comes_between() -> None:
    fence = Fence()
    assert fence.passes(0, Mark(ONE, BEFORE_ALL, THIS_RECORD, 1))
    assert not fence.complete
    assert not fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.passes(2, Mark(ONE, BEFORE_ALL, 0, 0))
    assert fence.complete
    assert fence.latest == 0


def test_a_decision_counts_although_compaction_took_the_winner_before_it_and_left_the_loser() -> None:
    fence = Fence()  # offset 0 was of ONE and is gone; OTHER did not know it
    assert fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.passes(2, Mark(THIRD, 0))
    assert fence.latest == 2


def test_the_rest_of_a_decision_counts_although_its_first_record_was_compacted() -> None:
    fence = Fence()  # offset 0 was the first record of ONE and is gone; OTHER lost against it
    assert fence.passes(1, Mark(OTHER, BEFORE_ALL))
    assert fence.passes(2, Mark(ONE, BEFORE_ALL, 0))
    assert fence.latest == 0


def test_records_of_other_programs_are_always_taken() -> None:
    fence = Fence()
    assert fence.passes(0, None)
    assert not fence.passes(1, Mark(ONE, BEFORE_ALL))
    assert fence.passes(2, None)
    assert fence.passes(3, Mark(ONE, 2))


def test_a_mark_comes_back_from_its_header_and_others_are_none() -> None:
    mark = Mark(ONE, 7, 8, 3)
    assert read_mark([("x", b"y"), (HEADER, mark.encode())]) == mark
    assert read_mark([(HEADER, b"short"), (HEADER, None)]) is None


class Entry(NamedTuple):
    offset: int
    key: int
    value: int
    mark: Mark | None


class Writer:
    """Reads some of the log, decides, and sends its records one after the other."""

    def __init__(self) -> None:
        self.fence, self.at = Fence(), 0
        self.pending: list[tuple[int, int, Mark]] = []


def state_of(log: list[Entry]) -> tuple[dict[int, int], set[int]]:
    """The values, and the keys whose last record did not count."""
    fence, values, lost = Fence(), dict[int, int](), set[int]()
    for entry in log:
        if fence.passes(entry.offset, entry.mark):
            values[entry.key] = entry.value
            lost.discard(entry.key)
        else:
            lost.add(entry.key)
    return values, lost


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("rdss"), st.integers(0, 3), st.integers(1, 3)))


@given(STEPS, st.data())
def test_a_reader_of_any_compaction_of_the_log_has_the_same_values(
    steps: list[tuple[int, str, int, int]], data: st.DataObject
) -> None:
    """Writers read, decide and send in any order; then somebody restores the keys that lost, and a cleaner
    takes away any records that have later ones of their keys."""
    log: list[Entry] = []
    writers = [Writer() for _ in range(3)]
    for number, (who, action, key, count) in enumerate(steps):
        writer = writers[who]
        if action == "r" and writer.at < len(log):
            writer.fence.passes(log[writer.at].offset, log[writer.at].mark)
            writer.at += 1
        elif action == "d" and not writer.pending:
            decision = number.to_bytes(16, "big")
            mark = Mark(decision, writer.fence.latest)
            writer.pending = [(key + i, number, mark._replace(following=count - 1 - i)) for i in range(count)]
        elif action == "s" and writer.pending:
            at, value, mark = writer.pending.pop(0)
            log.append(Entry(len(log), at, value, mark))
            if mark.first == THIS_RECORD:  # the others carry its offset
                rest = writer.pending
                writer.pending = [(k, v, m._replace(first=len(log) - 1)) for k, v, m in rest]
    values, lost = state_of(log)
    fence = Fence()
    for entry in log:
        fence.passes(entry.offset, entry.mark)
    for i, key in enumerate(sorted(lost)):
        first = THIS_RECORD if i == 0 else len(log) - i
        log.append(Entry(len(log), key, values.get(key, -1), Mark(b"restore".ljust(16), fence.latest, first)))
    later = {entry.key: entry.offset for entry in log}
    kept = [e for e in log if later[e.key] == e.offset or data.draw(st.booleans())]
    for key in lost:
        values.setdefault(key, -1)
    assert state_of(kept)[0] == values
