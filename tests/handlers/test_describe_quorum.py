"""DescribeQuorum of the single voter, which is its own leader."""

from __future__ import annotations

import pytest

from penstock.protocol.apis import Api
from tests.handlers.one_node import OneNode


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_single_voter_leads_and_has_everything(version: int) -> None:
    node = OneNode()
    node.create_topic("t")
    wanted = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    ((partition,),) = (
        topic.partitions for topic in node.ask(Api.DESCRIBE_QUORUM, version, topics=wanted).topics
    )
    (voter,) = partition.current_voters
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, voter.replica_id, 1)
    assert partition.high_watermark == voter.log_end_offset > 1
    if version > 0:
        assert voter.last_fetch_timestamp == pytest.approx(node.clock.now_ms(), abs=2)


def test_any_other_topic_has_no_quorum() -> None:
    node = OneNode()
    node.create_topic("t")
    wanted = [{"topic_name": "t", "partitions": [{"partition_index": 0}]}]
    answer = node.ask(Api.DESCRIBE_QUORUM, 0, topics=wanted)
    assert answer.topics[0].partitions[0].error_code == 3
