"""The controller on the quorum of one: what is decided is committed, replayed, and there after any crash."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pytest

from penstock.controller.broker_records import Endpoint, RegisterBrokerRecord
from penstock.controller.controller import Controller
from penstock.controller.image import BROKER_RESOURCE, Image, replay
from penstock.controller.image_records import records_of
from penstock.controller.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
    encode,
)
from penstock.controller.partition_records import PartitionChangeRecord
from penstock.controller.quorum import Quorum
from penstock.controller.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from penstock.records.record import Record, encode_batch
from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.operations import Operation, ResourceType
from penstock.settings import TopicSettings
from penstock.storage.incoming import examine_internal
from penstock.storage.log import Log
from penstock.testing.disk import SimDisk
from tests.raft.quorum import HandClock

PATH = "/data/__cluster_metadata-0"


class Home:
    """A disk that outlives controllers."""

    def __init__(self, seed: int = 1) -> None:
        self.disk = SimDisk(Random(seed))

    def open_log(self) -> Log:
        settings = dataclasses.replace(TopicSettings(), segment_bytes=2000, retention_ms=-1)
        return Log.open(self.disk, PATH, settings, HandClock(), clean=False)

    def start(self, **options: Any) -> Controller:
        self.log = self.open_log()
        return Controller(Quorum(self.log, self.disk, HandClock(), Random(1), 1, **options))


def topic(number: int) -> list[MetadataRecord]:
    topic_id = number.to_bytes(16, "big")
    return [TopicRecord(f"t{number}", topic_id), PartitionRecord(0, topic_id, (1,), (1,), 1, 0, 0)]


def decide(controller: Controller, records: list[MetadataRecord]) -> None:
    controller.submit(lambda image: (records, None))


@pytest.mark.parametrize("seed", range(5))
def test_what_was_decided_is_there_after_a_power_cut(seed: int) -> None:
    home = Home(seed)
    for number in range(1, 6):
        controller = home.start()
        assert controller.quorum.raft.epoch == number
        decide(controller, topic(number))
        home.disk.crash()
    assert sorted(home.start().image.topics) == ["t1", "t2", "t3", "t4", "t5"]


def test_a_log_from_before_the_quorum_is_read_and_goes_on() -> None:
    home = Home()
    old = home.open_log()
    values = [Record(None, encode(record)) for record in topic(1)]
    old.append_internal(examine_internal(memoryview(encode_batch(values)), old.settings), leader_epoch=0)
    old.flush()
    controller = home.start()
    assert list(controller.image.topics) == ["t1"]
    assert controller.quorum.raft.epoch == 1
    decide(controller, topic(2))
    assert sorted(home.start().image.topics) == ["t1", "t2"]


def test_a_start_begins_with_the_snapshot_and_the_log_before_it_goes() -> None:
    home = Home()
    controller = home.start()
    for number in range(1, 31):
        decide(controller, topic(number))
        if number % 10 == 0:
            controller.write_snapshot()
    home.log.expire()
    home.log.remove_expired()
    assert home.log.log_start_offset > 0
    home.disk.crash()
    again = home.start()
    assert again.image == controller.image
    decide(again, topic(31))
    assert home.start().image == again.image


def test_a_snapshot_is_written_when_enough_is_behind_the_last_one_restarts_or_not() -> None:
    home = Home()
    for number in range(1, 20):
        decide(home.start(snapshot_after_bytes=1000), topic(number))
    latest, values = home.start().quorum.snapshot()
    assert latest is not None
    assert latest.offset > 30
    assert len(values) > 20


READ_TOPICS = Acl(
    ResourceType.TOPIC, PatternType.PREFIXED, "t", "User:alice", "*", Operation.READ, Permission.ALLOW
)


def test_a_snapshot_holds_everything_that_an_image_has() -> None:
    records = [
        *topic(1),
        *topic(2),
        ConfigRecord(BROKER_RESOURCE, "", "log.cleaner.threads", "2"),
        ClientQuotaRecord((("user", None),), "producer_byte_rate", 1e6, remove=False),
        FeatureLevelRecord("transaction.version", 1),
        PartitionChangeRecord(0, (1).to_bytes(16, "big"), isr=(), leader=-1, elr=(1,), last_known_elr=()),
        RegisterBrokerRecord(1, b"i" * 16, 5, (Endpoint("A", "host", 9092),), "rack", fenced=False),
        AccessControlEntryRecord(b"a" * 16, READ_TOPICS),
        AccessControlEntryRecord(b"b" * 16, READ_TOPICS._replace(name="u")),
        RemoveAccessControlEntryRecord(b"b" * 16),
        UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096),
        UserScramCredentialRecord("bob", 1, b"salt", b"stored", b"server", 4096),
        RemoveUserScramCredentialRecord("bob", 1),
        DelegationTokenRecord("User:a", "User:a", ("User:b",), 1, 2, 3, "id"),
        DelegationTokenRecord("User:a", "User:a", (), 1, 2, 3, "gone"),
        RemoveDelegationTokenRecord("gone"),
    ]
    image = dataclasses.replace(replay(Image(), records), next_producer_id=4000)
    empty = Image()
    for field in dataclasses.fields(Image):
        assert getattr(image, field.name) != getattr(empty, field.name), f"{field.name} is not tried here"
    assert replay(Image(), records_of(image)) == image
