"""Transactions in both of their versions on real brokers; what is committed is read by a real client."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from penstock.coordinator.decision import Decision
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.record import Record
from penstock.testing import Broker
from penstock.testing.proxy import Proxy
from penstock.testing.proxy_frames import Way
from penstock.transactions import transaction as told
from penstock.transactions.transaction_records import transaction_record
from penstock.wire import group_offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import DeadlineExceeded, Fenced, Refused
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer, ProducerOptions
from penstock.wire.transactions import OffsetToCommit, Transaction, TransactionOwner
from tests.peers.topic_reader import read_topic

_ids = count()


@pytest.fixture(params=[1, 2])
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Both ways of speaking: a broker that has finalised version 2 serves clients of version 1 as well."""
    if request.param == 1:
        monkeypatch.setattr("penstock.wire.connection.Connection.feature", lambda self, name: 0)
    return int(request.param)


@pytest.fixture
def new_owner(cluster: Cluster, version: int) -> Callable[..., TransactionOwner]:
    def make(name: str | None = None, timeout_ms: int = 60_000) -> TransactionOwner:
        return TransactionOwner(cluster, name or f"id-{next(_ids)}", timeout_ms=timeout_ms)

    return make


def soon() -> Deadline:
    return Deadline(30)


def write(cluster: Cluster, transaction: Transaction, partition: TopicPartition, *values: bytes) -> int:
    """Write in the transaction as an executor does; the offset after the last record."""
    producer = Producer(cluster, ProducerOptions(transaction=transaction, delivery_seconds=20))
    for value in values:
        producer.send(partition, pack_records([Record(None, value, (), 1, 0)]))
    producer.flush()
    return producer.ends[partition]


def write_until_refused(cluster: Cluster, transaction: Transaction, partition: TopicPartition) -> None:
    deadline = soon()
    while not deadline.passed:
        write(cluster, transaction, partition, b"x")
        deadline.pause(3)


def committed_values(servers: str, topic: str) -> list[bytes]:
    return [message.value() for message in read_topic(servers, topic)]


def test_what_several_writers_wrote_is_seen_when_it_is_committed_and_what_was_aborted_never(
    servers: str, cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    topic, owner = new_topic(partitions=2), new_owner()
    owner.fence(soon())
    for number in range(3):
        transaction = owner.begin(soon())
        for partition in range(2):
            write(cluster, transaction, TopicPartition(topic, partition), b"%d-%d" % (number, partition))
        if number == 1:
            owner.abort(soon())
        else:
            owner.commit(soon())
    assert sorted(committed_values(servers, topic)) == [b"0-0", b"0-1", b"2-0", b"2-1"]


def test_each_transaction_has_an_epoch_of_its_own_so_that_sequences_begin_anew(
    cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner], version: int
) -> None:
    topic, owner = new_topic(), new_owner()
    owner.fence(soon())
    epochs = []
    for _ in range(3):
        transaction = owner.begin(soon())
        epochs.append(transaction.producer_epoch)
        assert transaction.version == version
        write(cluster, transaction, TopicPartition(topic, 0), b"x")
        owner.commit(soon())
    assert len(set(epochs)) == 3


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    topic, owner = new_topic(), new_owner()
    partition, group = TopicPartition(topic, 0), f"group-{topic}"
    owner.fence(soon())
    assert group_offsets.committed(cluster, group, soon()) == {}
    for offset, commits in ((5, True), (9, False)):
        write(cluster, owner.begin(soon()), partition, b"x")
        owner.commit_offsets(group, {partition: OffsetToCommit(offset, f"batch {offset}")}, soon())
        if commits:
            owner.commit(soon())
        else:
            owner.abort(soon())
    assert group_offsets.committed(cluster, group, soon()) == {partition: (5, "batch 5")}


def test_an_open_transaction_keeps_who_reads_its_offsets_waiting(
    cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    topic, owner = new_topic(), new_owner()
    partition, group = TopicPartition(topic, 0), f"group-{topic}"
    owner.fence(soon())
    owner.begin(soon())
    owner.commit_offsets(group, {partition: OffsetToCommit(1, "")}, soon())
    owner.commit(soon())
    owner.begin(soon())
    owner.commit_offsets(group, {partition: OffsetToCommit(2, "")}, soon())
    with pytest.raises(DeadlineExceeded, match=f"offsets of group '{group}'"):
        group_offsets.committed(cluster, group, Deadline(0.5))
    owner.abort(soon())


def test_a_new_owner_aborts_what_the_old_one_left_and_the_old_one_is_fenced_for_good(
    servers: str, cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    topic, old = new_topic(), new_owner(name=f"shared-{next(_ids)}")
    partition = TopicPartition(topic, 0)
    old.fence(soon())
    left = old.begin(soon())
    write(cluster, left, partition, b"left open")
    new = new_owner(name=left.transactional_id)
    new.fence(soon())
    with pytest.raises(Fenced):
        write(cluster, left, partition, b"from a zombie's task")
    with pytest.raises(Fenced, match="somebody else has taken it over"):
        old.commit(soon())
    with pytest.raises(Fenced):
        old.abort(soon())
    write(cluster, new.begin(soon()), partition, b"new")
    new.commit(soon())
    assert committed_values(servers, topic) == [b"new"]


def test_a_late_writer_of_an_aborted_transaction_is_refused(
    servers: str, cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    topic, owner = new_topic(partitions=2), new_owner()
    owner.fence(soon())
    first = owner.begin(soon())
    write(cluster, first, TopicPartition(topic, 0), b"aborted")
    owner.abort(soon())
    second = owner.begin(soon())
    for partition in range(2):  # one that it had written to, one that it had not
        write(cluster, second, TopicPartition(topic, partition), b"second")
        with pytest.raises(Fenced):
            write(cluster, first, TopicPartition(topic, partition), b"late")
    owner.commit(soon())
    assert committed_values(servers, topic) == [b"second"] * 2


@pytest.mark.parametrize("way", list(Way))
@pytest.mark.parametrize("api", [Api.END_TXN, Api.TXN_OFFSET_COMMIT, Api.PRODUCE])
def test_a_connection_that_breaks_anywhere_leaves_one_transaction_committed_once(
    servers: str, new_topic: Callable[..., str], version: int, api: Api, way: Way
) -> None:
    partition = TopicPartition(new_topic(), 0)
    with Proxy(servers) as proxy:
        cluster = Cluster(proxy.bootstrap_servers)
        owner = TransactionOwner(cluster, f"id-{next(_ids)}", timeout_ms=60_000)
        owner.fence(soon())
        broken = proxy.cut(api, way)
        for value in (b"first", b"second"):
            write(cluster, owner.begin(soon()), partition, value)
            owner.commit_offsets(f"group-{partition}", {partition: OffsetToCommit(1, "")}, soon())
            owner.commit(soon())
        broken.wait(seconds=1)
        cluster.close()
    assert committed_values(servers, partition.topic) == [b"first", b"second"]


def test_an_abort_of_what_never_began_is_no_error(
    cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    owner = new_owner()
    owner.fence(soon())
    owner.begin(soon())
    owner.abort(soon())
    write(cluster, owner.begin(soon()), TopicPartition(new_topic(), 0), b"x")
    owner.commit(soon())


def test_a_timeout_that_the_broker_does_not_allow_is_told_with_its_setting(
    new_owner: Callable[..., TransactionOwner],
) -> None:
    with pytest.raises(Refused, match=r"transaction\.max\.timeout\.ms") as caught:
        new_owner(timeout_ms=2_000_000_000).fence(soon())
    assert caught.value.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_transaction_that_was_open_for_too_long_says_so(
    cluster: Cluster, new_topic: Callable[..., str], new_owner: Callable[..., TransactionOwner]
) -> None:
    owner = new_owner(timeout_ms=100)
    partition = TopicPartition(new_topic(), 0)
    owner.fence(soon())
    transaction = owner.begin(soon())
    with pytest.raises(Fenced):  # the broker looks for such transactions now and then
        write_until_refused(cluster, transaction, partition)
    with pytest.raises(Fenced, match="longer transaction timeout"):
        owner.commit(soon())


def test_nobody_at_the_address_is_said_in_the_time_given() -> None:
    owner = TransactionOwner(Cluster("127.0.0.1:1"), "id", timeout_ms=1000)
    with pytest.raises(DeadlineExceeded, match=r"no broker answers at 127\.0\.0\.1:1"):
        owner.fence(Deadline(0.3))


def test_the_broker_says_how_long_it_keeps_offsets(cluster: Cluster) -> None:
    assert group_offsets.retention_ms(cluster, "any", soon()) == 7 * 24 * 3_600_000


def test_an_owner_goes_on_when_the_epochs_of_its_producer_id_are_used_up(version: int) -> None:
    """As after nine hours of one batch a second: the record of such an owner is put into the broker's log."""
    with Broker(settings={"auto.create.topics.enable": "true"}) as broker:
        cluster, topic = Cluster(broker.bootstrap_servers), "exhausted"
        cluster.topic(topic, soon(), create=True)
        owner = TransactionOwner(cluster, "old", timeout_ms=60_000)
        owner.fence(soon())
        first = owner.begin(soon())
        assert broker._broker is not None
        coordinator = broker._broker._node.broker.transactions
        aged = told.Transaction("old", first.producer_id, told.LAST_USABLE_EPOCH - 3, 60_000, update_ms=1)
        coordinator.runtime.submit(
            coordinator.shard_of("old"), lambda _: Decision((transaction_record(aged),))
        )
        owner.fence(soon())  # as a driver that was started again
        seen = []
        for number in range(6):
            transaction = owner.begin(soon())
            seen.append((transaction.producer_id, transaction.producer_epoch))
            end = write(cluster, transaction, TopicPartition(topic, 0), b"%d" % number)
            offsets = {TopicPartition(topic, 0): OffsetToCommit(end, str(number))}
            owner.commit_offsets("old", offsets, soon())
            if number == 2:
                owner.abort(soon())
            else:
                owner.commit(soon())
        assert seen[0] == (first.producer_id, told.LAST_USABLE_EPOCH - 2)
        assert seen[-1][0] != first.producer_id, "a new producer id begins with its first epoch"
        assert seen[-1][1] < 5
        assert len(set(seen)) == len(seen), "no epoch is used twice"
        assert committed_values(broker.bootstrap_servers, topic) == [b"0", b"1", b"3", b"4", b"5"]
        cluster.close()
