"""AlterPartition, v2-v3: a leader asks the controller to change the ISRs of its partitions. Each partition is
decided by itself. On controllers' listeners only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.controller.alter_partition import WantedIsr, check_broker, decide_alter_partition
from penstock.controller.controller import Decision
from penstock.controller.image import Image, PartitionState, replay
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.rules import rules_of
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.security.access import CLUSTER_ACTION

VERSIONS: Final = (2, 3)
ACCESS: Final = CLUSTER_ACTION
WITH_EPOCHS_FROM: Final = 3
UNKNOWN_EPOCH: Final = -1

Results = dict[tuple[bytes, int], PartitionState | KafkaError]


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.ALTER_PARTITION, request.version, request.reader)
    wishes = list(_wishes(wanted, request.version))

    def decide(image: Image) -> Decision[Results]:
        check_broker(image, wanted.broker_id, wanted.broker_epoch)
        return _decide_all(image, wanted.broker_id, wishes, broker)

    promise = if_node(request, broker, lambda: broker.controller.submit(decide))

    def encode() -> bytes:
        fields: dict[str, Any] = {"throttle_time": 0, "error_code": ErrorCode.NONE, "topics": ()}
        try:
            results = decided(promise)
            fields["topics"] = [_topic(topic, results) for topic in wanted.topics]
        except KafkaError as error:
            fields["error_code"] = error.code
        return encode_response(Api.ALTER_PARTITION, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def _wishes(wanted: Any, version: int) -> Iterator[WantedIsr]:
    for topic in wanted.topics:
        for item in topic.partitions:
            isr = (
                tuple((member.broker_id, member.broker_epoch) for member in item.new_isr_with_epochs)
                if version >= WITH_EPOCHS_FROM
                else tuple((member, UNKNOWN_EPOCH) for member in item.new_isr)
            )
            yield WantedIsr(
                id_bytes(topic.topic_id), item.partition_index, item.leader_epoch, item.partition_epoch, isr
            )


def _decide_all(
    image: Image, broker_id: int, wishes: list[WantedIsr], broker: ControllerParts
) -> Decision[Results]:
    rules = rules_of(image, broker.static_settings)
    records: list[MetadataRecord] = []
    results: Results = {}
    for wish in wishes:
        try:
            topic = image.topic("", wish.topic_id)
            name = "" if topic is None else topic.name
            records += decide_alter_partition(image, broker_id, wish, rules(name))
        except KafkaError as error:
            results[wish.topic_id, wish.partition] = error
    after = replay(image, records) if records else image
    for wish in wishes:
        topic = after.topic("", wish.topic_id)
        if topic is not None:
            results.setdefault((wish.topic_id, wish.partition), topic.partitions[wish.partition])
    return records, results


def _topic(topic: Any, results: Results) -> dict[str, Any]:
    topic_id = id_bytes(topic.topic_id)
    partitions = [
        _partition(item.partition_index, results[topic_id, item.partition_index]) for item in topic.partitions
    ]
    return {"topic_id": topic_id, "partitions": partitions}


def _partition(index: int, result: PartitionState | KafkaError) -> dict[str, Any]:
    if isinstance(result, KafkaError):
        return {
            "partition_index": index,
            "error_code": result.code,
            "leader_id": -1,
            "leader_epoch": -1,
            "isr": (),
            "leader_recovery_state": 0,
            "partition_epoch": -1,
        }
    return {
        "partition_index": index,
        "error_code": ErrorCode.NONE,
        "leader_id": result.leader,
        "leader_epoch": result.leader_epoch,
        "isr": result.isr,
        "leader_recovery_state": 0,
        "partition_epoch": result.partition_epoch,
    }
