"""Blocks of producer ids for this broker, asked of the active controller."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, mapped
from penstock.handlers.broker import Broker
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.server.cluster.decoded_channel import DecodedChannel

_VERSION: Final = 0


def allocate_producer_ids(broker: Broker) -> Promise[range]:
    fields = {"broker_id": broker.settings.node_id, "broker_epoch": broker.broker_epoch}
    answer = DecodedChannel(broker.channel).ask(Api.ALLOCATE_PRODUCER_IDS, _VERSION, fields)
    return mapped(answer, _block)


def _block(told: Any) -> range:
    if told.error_code:
        raise KafkaError(ErrorCode(int(told.error_code)), "no producer ids were given")
    return range(told.producer_id_start, told.producer_id_start + told.producer_id_len)
