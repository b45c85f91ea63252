"""Offsets of a connector: shown, set and reset. Of a source in the offset topic, of a sink in its group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from penstock.client.errors import ClientError, GroupNotFound
from penstock.client.groups import Groups
from penstock.connect.api.source import Place
from penstock.connect.errors import ConnectError
from penstock.connect.pipeline.source_work import offset_key
from penstock.connect.rest import bodies
from penstock.connect.worker import layout, refusals
from penstock.connect.worker.herder import Herder
from penstock.connect.worker.sink_run import group_of
from penstock.connect.worker.state import Connector
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import group_offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

Change = tuple[Place | None, Place | None]
PATIENCE_S: Final = 60.0


def show(herder: Herder, name: str) -> dict[str, Any]:
    found = herder.find(name)
    if herder.info(name)["type"] == "sink":
        return {"offsets": _sink_offsets(herder, name, found)}
    pairs = layout.read_offsets(herder.offsets(found).read(), name)
    return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs]}


def alter(herder: Herder, name: str, body: Mapping[str, Any]) -> dict[str, str]:
    changes = _changes(body)
    found, plugin = herder.stopped(name)
    if plugin.kind == "sink":
        _set_sink(herder, name, found, changes)
    else:
        _set_source(herder, name, found, changes)
    return {"message": "The offsets for this connector have been altered successfully"}


def reset(herder: Herder, name: str) -> dict[str, str]:
    found, plugin = herder.stopped(name)
    if plugin.kind == "sink":
        try:
            Groups(herder.topics.admin).delete(group_of(name, found.config))
        except GroupNotFound:
            pass
        except ClientError as error:
            raise refusals.failed(f"Failed to reset consumer group offsets for connector {name}") from error
    else:
        known = layout.read_offsets(herder.offsets(found).read(), name)
        _set_source(herder, name, found, [(partition, None) for partition, _ in known])
    return {"message": "The offsets for this connector have been reset successfully"}


def _changes(body: Mapping[str, Any]) -> list[Change]:
    given = body.get("offsets")
    if given is not None and not isinstance(given, list):
        raise refusals.failed("offsets are a JSON array")
    if not given:
        raise refusals.bad_request("Partitions / offsets need to be provided for an alter offsets request")
    return [_change(each) for each in given]


def _change(given: Any) -> Change:
    """What is left out is null."""
    if not isinstance(given, dict):
        raise refusals.failed("An offset is an object with partition and offset")
    bodies.only(given, ("partition", "offset"))
    for each in given.values():
        if each is not None and not isinstance(each, dict):
            raise refusals.failed("Partition and offset are objects")
    return given.get("partition"), given.get("offset")


def _set_source(herder: Herder, name: str, found: Connector, changes: Sequence[Change]) -> None:
    known = [(partition, offset) for partition, offset in changes if partition is not None]
    if any(partition is None and offset is not None for partition, offset in changes):
        raise refusals.failed("Partition objects cannot be null")
    try:
        connector = herder.source(found, herder.plugins.find(found.config["connector.class"]))
        connector.check_offsets(known)
    except ConnectError as error:
        raise refusals.failed(str(error)) from error
    herder.offsets(found).write([(offset_key(name, place), _bytes(offset)) for place, offset in known])


def _set_sink(herder: Herder, name: str, found: Connector, changes: Sequence[Change]) -> None:
    wanted = dict(_sink_change(partition, offset) for partition, offset in changes)
    group = group_of(name, found.config)
    later = {place: offset for place, offset in wanted.items() if offset is not None}
    if any(offset < 0 for offset in later.values()):
        raise refusals.failed(f"Failed to modify offsets for sink connector {name}")
    try:
        with closing(Cluster.of(herder.settings.client)) as cluster:
            group_offsets.commit(cluster, group, later, Deadline(PATIENCE_S))
            gone = wanted.keys() - later.keys()
            if gone:
                group_offsets.forget(cluster, group, gone, Deadline(PATIENCE_S))
    except WireError as error:
        raise refusals.failed(f"Failed to alter consumer group offsets for connector {name}") from error


def _sink_change(partition: Place | None, offset: Place | None) -> tuple[TopicPartition, int | None]:
    if partition is None:
        raise refusals.bad_request("The partition for a sink connector offset cannot be null or missing")
    if "kafka_topic" not in partition or "kafka_partition" not in partition:
        raise refusals.bad_request(
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and "
            "'kafka_partition'"
        )
    place = TopicPartition(str(partition["kafka_topic"]), _whole(partition["kafka_partition"], "partition"))
    if offset is None:
        return place, None
    if "kafka_offset" not in offset:
        raise refusals.bad_request(
            "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
        )
    return place, _whole(offset["kafka_offset"], "offset")


def _whole(value: Any, what: str) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise refusals.bad_request(
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{value}'. "
            f"{what.capitalize()} values for sink connectors need to be integers."
        ) from None


def _sink_offsets(herder: Herder, name: str, found: Connector) -> list[dict[str, Any]]:
    try:
        committed = Groups(herder.topics.admin).committed(group_of(name, found.config))
    except GroupNotFound:
        return []
    return [
        {"partition": {"kafka_topic": topic, "kafka_partition": number}, "offset": {"kafka_offset": offset}}
        for (topic, number), offset in sorted(committed.items())
    ]


def _bytes(offset: Place | None) -> bytes | None:
    return None if offset is None else json.dumps(dict(offset), separators=(",", ":")).encode()
