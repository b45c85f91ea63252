"""The promises of groups: one owner in a generation, commits that grow."""

from __future__ import annotations

from penstock.testing.history import Rule
from penstock.testing.history.events import Assign, CommitOffsets, Done, FetchOffsets, Offsets, Reset
from tests.testing.history.story import P0, P1, Story


def test_two_members_own_a_partition_in_one_generation() -> None:
    story = Story()
    story.recorder.fact("a", Assign(P0, group="g", generation=3, subscribed=True))
    story.recorder.fact("b", Assign(P0, group="g", generation=3, subscribed=True))
    assert story.broken() == {Rule.ONE_OWNER}


def test_a_partition_may_change_its_owner_with_the_generation() -> None:
    story = Story()
    story.recorder.fact("a", Assign(P0, group="g", generation=3, subscribed=True))
    story.recorder.fact("a", Assign(P0, group="g", generation=3, subscribed=True))
    story.recorder.fact("b", Assign(P1, group="g", generation=3, subscribed=True))
    story.recorder.fact("b", Assign(P0, group="g", generation=4, subscribed=True))
    story.recorder.fact("b", Assign(P0, group="other", generation=3, subscribed=True))
    assert story.broken() == set()


def test_a_commit_goes_back() -> None:
    story = Story()
    story.commit_offset("a", 5)
    story.commit_offset("b", 4)
    assert story.broken() == {Rule.COMMITS_GROW}


def test_a_commit_may_go_back_after_a_reset() -> None:
    story = Story()
    story.commit_offset("a", 5)
    story.recorder.fact("admin", Reset("g", P0, 2))
    story.commit_offset("a", 4)
    assert story.broken() == set()
    story.commit_offset("a", 3)
    assert story.broken() == {Rule.COMMITS_GROW}


def test_commits_under_way_at_once_may_overtake_each_other() -> None:
    story = Story()
    recorder = story.recorder
    first = recorder.invoke("a", CommitOffsets("g", ((P0, 4),)))
    second = recorder.invoke("b", CommitOffsets("g", ((P0, 5),)))
    recorder.ok(second, Done())
    recorder.ok(first, Done())
    assert story.broken() == set()


def test_a_committed_offset_is_forgotten() -> None:
    story = Story()
    story.commit_offset("a", 5)
    looked = story.recorder.invoke("b", FetchOffsets("g"))
    story.recorder.ok(looked, Offsets(((P0, 0),)))
    assert story.broken() == {Rule.COMMITS_GROW}


def test_the_group_ends_with_an_offset_that_was_committed_last() -> None:
    for offset, broken in ((5, set()), (3, {Rule.COMMITS_GROW}), (6, {Rule.COMMITS_GROW})):
        story = Story()
        story.commit_offset("a", 3)
        story.commit_offset("a", 5)
        story.ends_with_offset(offset)
        assert story.broken() == broken


def test_a_commit_that_nobody_heard_of_may_have_happened() -> None:
    for offset in (3, 5):
        story = Story()
        story.commit_offset("a", 3)
        story.recorder.info(story.recorder.invoke("a", CommitOffsets("g", ((P0, 5),))), "timed out")
        story.ends_with_offset(offset)
        assert story.broken() == set()
