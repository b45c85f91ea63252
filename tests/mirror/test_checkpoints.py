"""Where groups go on, from syncs and from what they have committed."""

from __future__ import annotations

from penstock.mirror.checkpoints import Checkpoints
from penstock.mirror.filters import Selection
from penstock.mirror.layouts import Checkpoint, OffsetSync, SourceOffset
from penstock.mirror.translation import TOO_OLD, OffsetSyncs
from penstock.protocol.topic_partition import TopicPartition

SELECTION = Selection.of({"source.cluster.alias": "A", "target.cluster.alias": "B"})
HERE, THERE = TopicPartition("orders", 0), TopicPartition("A.orders", 0)


def syncs(*pairs: tuple[int, int]) -> OffsetSyncs:
    made = OffsetSyncs()
    made.started()
    made.take_all(OffsetSync(HERE, *pair) for pair in pairs)
    return made


def test_a_group_at_the_end_goes_on_at_the_end() -> None:
    decided = Checkpoints().decide("g", {HERE: (100, "note")}, syncs((0, 0), (99, 49)), SELECTION)

    assert decided == [Checkpoint("g", THERE, 100, 50, "note")]


def test_a_group_never_moves_back_on_the_target_unless_it_did_on_the_source() -> None:
    known = Checkpoints()
    known.take([Checkpoint("g", THERE, 100, 50)])

    assert known.decide("g", {HERE: (100, "")}, syncs((90, 45)), SELECTION) == []
    moved_back = known.decide("g", {HERE: (10, "")}, syncs((0, 0), (10, 5)), SELECTION)
    assert moved_back == [Checkpoint("g", THERE, 10, 5)]


def test_what_cannot_be_translated_gives_no_checkpoint() -> None:
    assert syncs((50, 50)).translate(HERE, 10) == TOO_OLD
    assert Checkpoints().decide("g", {HERE: (10, "")}, syncs((50, 50)), SELECTION) == []
    assert Checkpoints().decide("g", {TopicPartition("x", 0): (10, "")}, syncs((5, 5)), SELECTION) == []
    assert Checkpoints().decide("g", {TopicPartition("__x", 0): (10, "")}, syncs((5, 5)), SELECTION) == []


def test_a_topic_that_came_from_the_target_goes_home_under_its_own_name() -> None:
    place = TopicPartition("B.events", 3)
    made = OffsetSyncs()
    made.started()
    made.take(OffsetSync(place, 5, 7))

    decided = Checkpoints().decide("g", {place: (5, "")}, made, SELECTION)

    assert decided == [Checkpoint("g", TopicPartition("events", 3), 5, 7)]


def test_offsets_are_committed_where_the_group_is_behind_and_never_back() -> None:
    known = Checkpoints()
    known.take([Checkpoint("g", THERE, 100, 50), Checkpoint("g", TopicPartition("A.x", 0), 9, 9, "m")])

    assert known.to_commit("g", None) == {THERE: (50, ""), TopicPartition("A.x", 0): (9, "m")}
    assert known.to_commit("g", {THERE: (60, "")}) == {TopicPartition("A.x", 0): (9, "m")}
    assert known.to_commit("g", {THERE: (50, ""), TopicPartition("A.x", 0): (9, "")}) == {}
    assert known.to_commit("other", None) == {}


def test_source_offsets_are_those_that_connect_keeps() -> None:
    offset = SourceOffset("A", TopicPartition("orders", 2), 41)

    assert offset.key() == b'["MirrorSourceConnector",{"cluster":"A","partition":2,"topic":"orders"}]'
    assert offset.value() == b'{"offset":41}'
    assert SourceOffset.read(offset.key(), offset.value()) == offset
    assert SourceOffset.read(offset.key(), None) == offset._replace(last=-1)
    assert SourceOffset.read(b'["other",{"cluster":"A","partition":2,"topic":"orders"}]', b"{}") is None
    assert SourceOffset.read(b"no json", b"{}") is None
    with_pair = offset._replace(sync=(41, 40))
    assert SourceOffset.read(with_pair.key(), with_pair.value()) == with_pair
