"""Replicas of one partition through elections, divergence and lag: each bug that others had is a scenario."""

from __future__ import annotations

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.replication.following import EpochEnd, Position
from tests.replication.replicas import LAG_SECONDS, MAX_BYTES, Replicas
from tests.storage.builders import batch


class Noted:
    """A waiter that counts."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def code_of(raised: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return raised.value.code


def test_what_is_written_is_committed_when_all_in_sync_have_it() -> None:
    replicas = Replicas()
    replicas.append(b"a", b"b")
    assert replicas.leader.high_watermark == 0
    replicas.fetch(2)  # takes the records; that it has them it says with its next fetch
    replicas.fetch(2)
    assert replicas.leader.high_watermark == 0
    replicas.fetch(3)
    replicas.fetch(3)
    assert replicas.leader.high_watermark == 2
    replicas.fetch(2)
    assert replicas.high_watermarks() == {1: 2, 2: 2, 3: 2}
    assert replicas.values(1) == replicas.values(2) == replicas.values(3) == [b"a", b"b"]


def test_a_partition_alone_commits_what_it_writes() -> None:
    replicas = Replicas(1)
    replicas.append(b"a")
    assert replicas.leader.high_watermark == 1
    assert replicas.leader.acknowledgement(1, 0) is ErrorCode.NONE


def test_consumers_see_what_is_committed_only() -> None:
    replicas = Replicas()
    replicas.append(b"a")
    assert replicas.leader.fetch(0, MAX_BYTES, at_least_one=True).records is None
    replicas.catch_up(2, 3)
    assert replicas.leader.fetch(0, MAX_BYTES, at_least_one=True).records is not None


def test_waiters_for_what_is_committed_are_not_woken_by_what_is_written() -> None:
    replicas = Replicas()
    committed, written = Noted(), Noted()
    replicas.leader.watch(committed)
    replicas.leader.written.watch(written)
    replicas.append(b"a")
    assert (committed.woken, written.woken) == (0, 1)
    replicas.catch_up(2, 3)
    assert committed.woken == 1


def test_acks_all_is_answered_when_it_is_committed_and_by_an_error_when_another_leads() -> None:
    replicas = Replicas()
    told: list[ErrorCode] = []
    replicas.append(b"a")
    replicas.leader.when_acknowledged(1, 0, told.append)
    assert (replicas.leader.acknowledgement(1, 0), told) == (None, [])
    replicas.catch_up(2, 3)
    assert told == [ErrorCode.NONE]
    replicas.append(b"b")
    replicas.leader.when_acknowledged(2, 0, told.append)
    replicas.lead(2, (2, 3))
    assert told == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]
    replicas.lead(1, (1, 2))  # leads again, and may have lost the batch in between
    assert replicas[1].acknowledgement(1, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_election_that_confirms_the_leader_takes_nothing_back() -> None:
    replicas = Replicas()
    replicas.append(b"a")
    replicas.lead(1, (1, 2, 3))
    assert replicas.leader.acknowledgement(1, 0) is None
    replicas.catch_up(2, 3)
    assert replicas.leader.acknowledgement(1, 0) is ErrorCode.NONE


def test_too_small_an_isr_refuses_before_the_write_and_commits_nothing() -> None:
    replicas = Replicas(min_isr=2)
    replicas.append(b"a")
    replicas.lead(1, (1,))
    with pytest.raises(KafkaError) as raised:
        replicas.append(b"b")
    assert code_of(raised) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert replicas.append(b"c", to_all=False).base_offset == 1  # acks=1 asks nobody
    assert replicas.leader.high_watermark == 0  # nothing is committed with too few (KIP-966)
    replicas.fetch(2, 2)
    replicas.alter_partition()
    assert replicas.leader.high_watermark == 2


def test_an_isr_that_shrank_after_the_commitment_is_told() -> None:
    replicas = Replicas(min_isr=2)
    replicas.append(b"a")
    replicas.catch_up(2, 3)
    replicas.lead(1, (1,))
    assert replicas.leader.acknowledgement(1, 0) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_more_replicas_than_there_are_are_never_asked_for() -> None:
    replicas = Replicas(1, min_isr=3)
    assert replicas.append(b"a").base_offset == 0


def test_a_follower_neither_writes_nor_reads_unless_asked_as_one() -> None:
    replicas = Replicas()
    replicas.append(b"a")
    replicas.catch_up(2, 3)
    for attempt in (
        lambda: replicas[2].append(batch(b"x")),
        lambda: replicas[2].fetch(0, MAX_BYTES, at_least_one=True),
        lambda: replicas[2].epoch_end_offset(0),
        lambda: replicas[2].delete_records(None),
        lambda: replicas[2].check_leads(),
    ):
        with pytest.raises(KafkaError) as raised:
            attempt()
        assert code_of(raised) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    nearby = replicas[2].fetch(0, MAX_BYTES, at_least_one=True, any_replica=True)
    assert nearby.records is not None


def test_a_stale_leader_is_fenced_by_its_followers() -> None:
    """It has not heard of the election: what it takes is never acknowledged."""
    replicas = Replicas()
    replicas.append(b"a")
    replicas.catch_up(2, 3)
    replicas.lead(2, (2, 3), heard_by=(2, 3))
    stale = replicas[1]
    stale.append(batch(b"lost"), to_all=True)
    position = replicas[3].position()
    assert position is not None
    with pytest.raises(KafkaError) as raised:
        stale.fetch_for_replica(3, 100, position, MAX_BYTES, at_least_one=True)
    assert code_of(raised) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert stale.acknowledgement(2, 0) is None
    replicas.append(b"b")
    replicas.tell(1)
    assert stale.acknowledgement(2, 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    replicas.catch_up(1, 3)
    assert replicas.values(1) == replicas.values(2) == replicas.values(3) == [b"a", b"b"]


def test_a_follower_that_crashes_does_not_cut_what_its_leader_committed_kip_101() -> None:
    """It knows an old high watermark. Cutting to it, and being elected then, would lose what was
    acknowledged."""
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.fetch(2)
    replicas.append(b"b")
    replicas.fetch(2)
    replicas.fetch(2)
    assert replicas.leader.high_watermark == 2
    replicas[2].log.high_watermark = 1  # what its checkpoint knew
    replicas.crash(2)
    replicas.tell(2)
    assert replicas.values(2) == [b"a", b"b"]
    replicas.lead(2, (2,))  # the leader dies before the follower has fetched again
    assert replicas.values(2) == [b"a", b"b"]
    assert replicas.leader.high_watermark == 2  # alone in the ISR: all it has is committed


def test_logs_that_diverged_in_a_fast_failover_become_equal_again_kip_101() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.append(b"only at 1")
    replicas.lead(2, (2,))
    replicas.append(b"only at 2")
    assert replicas[1].log.log_end_offset == replicas[2].log.log_end_offset
    replicas.catch_up(1)
    assert replicas.values(1) == replicas.values(2) == [b"a", b"only at 2"]


def test_logs_that_diverged_twice_become_equal_again_kip_279() -> None:
    """The leader answers with an epoch that the follower does not know: the follower goes further back."""
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.append(b"1 at epoch 0")
    replicas.append(b"2 at epoch 0")
    replicas.lead(2, (2,))
    replicas.append(b"1 at epoch 1")
    replicas.lead(1, (1,))  # unclean: it never had epoch 1
    replicas.append(b"1 at epoch 2")
    replicas.catch_up(2)
    assert replicas.values(1) == replicas.values(2)
    assert replicas[1].log.epochs.entries() == replicas[2].log.epochs.entries()


def test_a_consumer_whose_last_record_was_cut_is_told_where_kip_320() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.append(b"b")
    replicas.lead(2, (2,))  # unclean: 2 has nothing
    replicas.append(b"c")
    told = replicas.leader.fetch(2, MAX_BYTES, at_least_one=True, epoch=1, last_epoch=0)
    assert (told.records, told.diverging) == (None, EpochEnd(0, 0))
    with pytest.raises(KafkaError) as raised:
        replicas.leader.fetch(0, MAX_BYTES, at_least_one=True, epoch=0)
    assert code_of(raised) is ErrorCode.FENCED_LEADER_EPOCH


def test_a_new_leader_that_lags_in_what_is_committed_does_not_send_consumers_back() -> None:
    """Its high watermark comes with its followers' fetches. Until then a consumer's place is no error
    (KIP-207)."""
    replicas = Replicas()
    replicas.append(b"a")
    replicas.fetch(3, 2)
    replicas.fetch(2, 3)
    assert (replicas.leader.high_watermark, replicas[2].high_watermark) == (1, 0)
    replicas.lead(2, (2, 3))
    assert replicas.leader.fetch(1, MAX_BYTES, at_least_one=True).records is None
    with pytest.raises(KafkaError) as raised:
        replicas.leader.check_end_known()
    assert code_of(raised) is ErrorCode.OFFSET_NOT_AVAILABLE
    replicas.fetch(3)
    replicas.leader.check_end_known()


def test_who_does_not_catch_up_for_too_long_leaves_the_isr() -> None:
    replicas = Replicas()
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.clock.pass_ms(int(LAG_SECONDS * 1000) + 1)
    replicas.fetch(2)
    replicas.leader.shrink_isr()
    assert replicas.asked == [replicas.leader]
    wanted = replicas.leader.wanted_isr()
    assert wanted is not None
    assert wanted.members == {1, 2}
    assert replicas.leader.high_watermark == 0  # until the controller says so, 3 may be elected
    replicas.alter_partition()
    assert replicas.leader.high_watermark == 1


def test_who_reads_on_but_never_reaches_the_end_is_in_sync_while_it_follows_closely() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    for _ in range(5):
        replicas.clock.pass_ms(20_000)
        replicas.fetch(2)  # reaches what was the end at its last fetch, never the present one
        replicas.append(b"more")
    replicas.leader.shrink_isr()
    assert replicas.leader.wanted_isr() is None


def test_who_has_caught_up_joins_the_isr_and_counts_from_the_wish_on() -> None:
    replicas = Replicas()
    replicas.lead(1, (1, 2))
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.fetch(3)
    assert replicas.asked == []
    replicas.fetch(3)
    assert replicas.asked == [replicas.leader]
    replicas.append(b"b")
    replicas.catch_up(2)
    assert replicas.leader.high_watermark == 1  # 3 may be in the ISR already
    replicas.alter_partition()
    replicas.catch_up(3)
    assert replicas.leader.high_watermark == 2


def test_a_wish_that_was_not_attempted_is_forgotten() -> None:
    replicas = Replicas()
    replicas.append(b"a")
    replicas.lead(1, (1, 2))
    replicas.catch_up(3)
    wanted = replicas.leader.wanted_isr()
    assert wanted is not None
    replicas.leader.isr_refused(wanted)
    assert replicas.leader.wanted_isr() is None
    replicas.fetch(3)
    assert replicas.leader.wanted_isr() == wanted
    replicas.leader.isr_changed(1, [1, 2, 3], wanted.partition_epoch + 1)
    assert replicas.leader.wanted_isr() is None
    leading = replicas.leader.leadership
    assert leading is not None
    assert leading.isr == {1, 2, 3}


def test_an_earlier_life_of_a_broker_neither_joins_nor_counts_kip_903() -> None:
    """A fetch from before its restart is late: the broker may have lost everything since."""
    replicas = Replicas()
    replicas.append(b"a")
    replicas.catch_up(2, 3)
    replicas.lead(1, (1, 2))
    late = replicas[3].position()
    assert late is not None
    replicas.crash(3, keep_log=False)  # the metadata knows of its restart, the late fetch does not
    replicas.leader.fetch_for_replica(3, 100, late, MAX_BYTES, at_least_one=True)
    assert replicas.leader.wanted_isr() is None
    replicas.tell(3)
    replicas.fetch(3)
    with pytest.raises(KafkaError) as raised:
        replicas.leader.fetch_for_replica(3, 100, late, MAX_BYTES, at_least_one=True)
    assert code_of(raised) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fenced_broker_does_not_join_the_isr() -> None:
    replicas = Replicas()
    replicas.lead(1, (1, 2))
    replicas.fenced.add(3)
    replicas.catch_up(3)
    assert replicas.leader.wanted_isr() is None


def test_an_empty_broker_with_the_old_id_refills() -> None:
    replicas = Replicas()
    for value in (b"a", b"b", b"c"):
        replicas.append(value)
    replicas.catch_up(2, 3)
    replicas.lead(1, (1, 2))
    replicas.crash(3, keep_log=False)
    replicas.tell(3)
    replicas.catch_up(3)
    assert replicas.values(3) == [b"a", b"b", b"c"]
    replicas.alter_partition()
    assert 3 in replicas.state.isr


def test_a_follower_learns_where_the_log_begins() -> None:
    replicas = Replicas(1, 2)
    for value in (b"a", b"b", b"c"):
        replicas.append(value)
    replicas.catch_up(2)
    replicas.leader.delete_records(2)
    assert replicas.leader.low_watermark() == 0
    replicas.catch_up(2)
    assert (replicas[2].log.log_start_offset, replicas.leader.low_watermark()) == (2, 2)


def test_a_follower_behind_the_beginning_of_the_log_goes_on_from_there() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.lead(1, (1,))
    replicas.append(b"b")
    replicas.append(b"c")
    replicas.leader.delete_records(2)
    position = replicas[2].position()
    assert position is not None
    with pytest.raises(KafkaError) as raised:
        replicas.ask(2)
    assert code_of(raised) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert replicas[2].move_into_range(position, 2, 3)
    replicas.catch_up(2)
    assert replicas.values(2) == [b"c"]


def test_a_follower_beyond_the_end_of_an_uncleanly_elected_leader_is_cut() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    replicas.catch_up(2)
    replicas.append(b"b")
    replicas.lead(2, (2,))
    replicas.catch_up(1)
    assert replicas.values(1) == [b"a"]


def test_an_answer_that_comes_after_an_election_is_passed_over() -> None:
    replicas = Replicas(1, 2)
    replicas.append(b"a")
    position = replicas[2].position()
    assert position is not None
    fetched = replicas.ask(2)
    assert fetched.records is not None
    data = memoryview(bytearray(fetched.records.read()))
    replicas.lead(2, (2,))
    assert replicas[2].take(position, data, 1, 0) == 0
    assert replicas.values(2) == []


def test_who_is_no_replica_is_told_to_wait_for_the_metadata() -> None:
    replicas = Replicas(1, 2)
    with pytest.raises(KafkaError) as raised:
        replicas.leader.fetch_for_replica(9, 1, Position(0, 0, -1, 0), MAX_BYTES, at_least_one=True)
    assert code_of(raised) is ErrorCode.UNKNOWN_LEADER_EPOCH
