"""mm2.properties as a person writes it. What Kafka makes of it is compared in tests/peers/mirror."""

from __future__ import annotations

import pytest

from penstock.mirror.settings import MirrorSettings
from penstock.settings.errors import SettingError

FILE = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:9092",
    "B.bootstrap.servers": "b:9092",
    "A->B.enabled": "true",
    "A->B.topics": "orders.*",
}


def test_a_flow_has_the_defaults_of_mirror_maker() -> None:
    flow = MirrorSettings(FILE).flow("A", "B").checked()

    assert flow.enabled
    assert str(flow) == "A->B"
    assert flow.intervals.checkpoints == 60
    assert flow.intervals.group_offsets is None
    assert (flow.offset_syncs_topic, flow.checkpoints_topic) == (
        "mm2-offset-syncs.B.internal",
        "A.checkpoints.internal",
    )
    assert flow.offsets_topic == "mm2-offsets.A.internal"
    assert flow.read_committed
    assert flow.codec is None
    assert flow.source_client.bootstrap_servers == "a:9092"


def test_a_pair_that_is_not_enabled_still_emits_heartbeats_unless_told_not_to() -> None:
    assert [str(flow) for flow in MirrorSettings(FILE).flows()] == ["A->B", "B->A"]
    quiet = MirrorSettings({**FILE, "emit.heartbeats.enabled": "false"})
    assert [str(flow) for flow in quiet.flows()] == ["A->B"]
    assert [str(flow) for flow in MirrorSettings(FILE).flows(["A"])] == ["B->A"]


def test_syncs_may_stand_on_the_target() -> None:
    flow = MirrorSettings({**FILE, "offset-syncs.topic.location": "target"}).flow("A", "B")

    assert flow.offset_syncs_topic == "mm2-offset-syncs.A.internal"


def test_settings_of_clients_are_found_where_they_are_strongest() -> None:
    texts = {
        **FILE,
        "A.consumer.isolation.level": "read_uncommitted",
        "A->B.producer.compression.type": "zstd",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "A.security.protocol": "PLAINTEXT",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password=p;"
        ),
    }
    flow = MirrorSettings(texts).flow("A", "B")

    assert not flow.read_committed
    assert flow.codec == "zstd"
    assert flow.source_client.security_protocol == "PLAINTEXT"
    assert flow.target_client.security_protocol == "SASL_PLAINTEXT"
    assert flow.admin_texts("target")["sasl.mechanism"] == "PLAIN"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"clusters": " , "}, "clusters"),
        ({"topics.exclude": "("}, "topics.exclude"),
        ({"A->B.topics": "*"}, "topics"),
        ({"replication.policy.class": "my.Policy"}, "replication.policy.class"),
        ({"topic.filter.class": "my.Filter"}, "topic.filter.class"),
        ({"offset-syncs.topic.location": "moon"}, "offset-syncs.topic.location"),
        ({"emit.checkpoints.interval.seconds": "often"}, "emit.checkpoints.interval.seconds"),
        ({"A.bootstrap.servers": ""}, "A.bootstrap.servers"),
        ({"transforms": "drop"}, "transforms"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_its_name(wrong: dict[str, str], named: str) -> None:
    with pytest.raises(SettingError) as refused:
        MirrorSettings({**FILE, **wrong}).flow("A", "B").checked()

    assert refused.value.setting == named


def test_a_cluster_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingError, match="'C' is not among the clusters"):
        MirrorSettings(FILE).flows(["C"])


def test_quotas_do_not_go_in_a_circle() -> None:
    MirrorSettings({**FILE, "sync.quotas.enabled": "true"}).check_quotas()
    both = {**FILE, "B->A.enabled": "true"}
    MirrorSettings({**both, "A->B.sync.quotas.enabled": "true"}).check_quotas()

    with pytest.raises(SettingError, match="in a circle through A and B"):
        MirrorSettings({**both, "sync.quotas.enabled": "true"}).check_quotas()
    ring = {"clusters": "A,B,C", "A->B.enabled": "true", "B->C.enabled": "true", "C->A.enabled": "true"}
    with pytest.raises(SettingError, match="in a circle through A and B and C"):
        MirrorSettings({**ring, "sync.quotas.enabled": "true"}).check_quotas()
