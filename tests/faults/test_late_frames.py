"""A7: a frame of one transaction that arrives when the next one has begun is fenced, always (KIP-890).

The frame is held by a proxy on its way; meanwhile its transaction is aborted, and the producer's next one
begins and writes to the same partitions. Then the frame is let go.
"""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.broker import Broker
from penstock.testing.history.clients import read_to_the_end
from penstock.testing.history.events import Isolation, Partition
from penstock.testing.proxy import Proxy
from penstock.testing.proxy_frames import Way
from tests.faults.hand_transactions import Frame, Hand, Identity, errors_of

FENCED = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
}
SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
TOPIC = "late"
MATRIX = [
    (version, api, partition)
    for version in (1, 2)
    for api in (Api.PRODUCE, Api.ADD_PARTITIONS_TO_TXN, Api.END_TXN)
    for partition in ("written by both", "of the late frame alone")
]


def late_frame(hand: Hand, api: Api, producer: Identity, index: int) -> Frame:
    if api is Api.PRODUCE:
        return hand.produce_frame(producer, TOPIC, index, b"late", sequence=1 if index == 0 else 0)
    if api is Api.ADD_PARTITIONS_TO_TXN:
        return hand.add_frame(producer, TOPIC, index)
    return hand.end_frame(producer, commit=True)


@pytest.mark.claim("A7")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("version", "api", "where"), MATRIX)
def test_a_late_frame_is_fenced(version: int, api: Api, where: str) -> None:
    index = 0 if where == "written by both" else 1
    with Broker(settings=SETTINGS) as broker, Proxy(broker.bootstrap_servers) as proxy:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(10)
        slow, quick = Hand(proxy.bootstrap_servers, "tx", version), Hand(servers, "tx", version)
        quick.find_coordinator()
        first = quick.init()
        quick.write(first, TOPIC, 0, b"aborted")

        frame = late_frame(slow, api, first, index)
        held = proxy.hold(api, Way.TO_BROKER)
        slow.send(frame)
        held.wait(seconds=10)
        # Version 1 aborts by a new life, as clients do after a timeout; version 2 by the end itself.
        second = quick.end(first, commit=False) if version >= 2 else quick.init()
        quick.write(second, TOPIC, 0, b"committed")

        held.release()
        assert set(errors_of(slow.receive(frame))) <= FENCED
        quick.end(second, commit=True)
        check(servers)
        slow.close()
        quick.close()


def check(servers: str) -> None:
    """Only the second transaction counts, and nothing is left open."""
    places = [Partition(TOPIC, 0), Partition(TOPIC, 1)]
    finals = read_to_the_end(servers, places, isolation=Isolation.READ_COMMITTED, seconds=20)
    assert [record.value for final in finals for record in final.records] == [b"committed"]
    stable = read_to_the_end(servers, places, isolation=Isolation.READ_UNCOMMITTED, seconds=20)
    assert [final.high_watermark for final in finals] == [final.high_watermark for final in stable]
