"""Decisions about settings of topics, brokers and groups: change some, or replace all. Pure: an image and a
wish in, records or a `KafkaError` with Kafka's sentence out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from penstock.controller.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE, Image
from penstock.controller.metadata_records import ConfigRecord, MetadataRecord
from penstock.controller.topics import check_name
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import (
    BrokerSettings,
    Definition,
    SettingError,
    SettingType,
    TopicSettings,
    broker_definitions,
    check_dynamic,
    check_group_overrides,
    group_definitions,
    inert_definitions,
    overlay,
    topic_definitions,
)
from penstock.settings.dynamic import is_dynamic
from penstock.settings.secret_files import is_secret

ALL_BROKERS: Final = ""
MIN_ISR: Final = "min.insync.replicas"


class Operation(IntEnum):
    """Kafka's AlterConfigOp."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Resource(NamedTuple):
    """What has settings: a topic, a group, a broker by its id, or all brokers by the empty name."""

    type: int
    name: str


class Change(NamedTuple):
    """One setting and what is to become of it."""

    name: str
    operation: int
    value: str | None


def effective_settings(static: BrokerSettings, image: Image) -> BrokerSettings:
    """What a broker that was started with `static` works with. Raises SettingError."""
    return overlay(static, *_layers(image, static.node_id))


def decide_cluster_min_isr(image: Image, static: BrokerSettings) -> list[MetadataRecord]:
    """Gives the cluster a `min.insync.replicas` of its own when it has none: that of the active controller.
    Values that single brokers had go. Kafka does the same when eligible leader replicas are switched on."""
    if MIN_ISR in image.config(BROKER_RESOURCE, ALL_BROKERS):
        return []
    value = static.topic_defaults.text(MIN_ISR)
    own = [
        ConfigRecord(BROKER_RESOURCE, name, MIN_ISR, None)
        for (kind, name), config in image.configs.items()
        if kind == BROKER_RESOURCE and MIN_ISR in config
    ]
    return [ConfigRecord(BROKER_RESOURCE, ALL_BROKERS, MIN_ISR, value), *own]


def decide_changes(
    image: Image, resource: Resource, changes: Sequence[Change], static: BrokerSettings
) -> list[MetadataRecord]:
    """IncrementalAlterConfigs for one resource."""
    _check_request(image, resource, [change.name for change in changes], static)
    _check_no_secret(resource, [change.name for change in changes if change.operation != Operation.DELETE])
    _check_values({c.name: c.value for c in changes if c.operation != Operation.DELETE})
    old = image.config(*resource)
    new = dict(old)
    for change in changes:
        value = _changed(resource, change, old.get(change.name))
        if value is None:
            new.pop(change.name, None)
        else:
            new[change.name] = value
    return _decide(image, resource, new, {change.name for change in changes}, static)


def decide_replacement(
    image: Image, resource: Resource, values: Sequence[tuple[str, str | None]], static: BrokerSettings
) -> list[MetadataRecord]:
    """AlterConfigs for one resource: what is not named goes back to its default."""
    _check_request(image, resource, [name for name, _ in values], static)
    _check_no_secret(resource, [name for name, _ in values])
    new = _check_values(dict(values))
    return _decide(image, resource, new, {*new, *image.config(*resource)}, static)


def _check_request(image: Image, resource: Resource, names: Sequence[str], static: BrokerSettings) -> None:
    if len(set(names)) < len(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if resource.type == BROKER_RESOURCE:
        _check_broker_name(image, resource.name, static.node_id)
    elif resource.type not in (TOPIC_RESOURCE, GROUP_RESOURCE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")


def _check_no_secret(resource: Resource, names: Sequence[str]) -> None:
    """The metadata log is in the clear, and no broker here would work with a password from it. Kafka takes
    those of TLS."""
    secret = [name for name in names if is_secret(name) and not is_dynamic(name)]
    if resource.type == BROKER_RESOURCE and secret:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({', '.join(secret)})"
        )


def _check_broker_name(image: Image, name: str, node_id: int) -> None:
    if name == ALL_BROKERS or name in map(str, image.brokers):
        return
    if not name.removeprefix("-").isdecimal():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    raise KafkaError(
        ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {node_id}, but received {name}"
    )


def _check_values(values: Mapping[str, str | None]) -> dict[str, str]:
    empty = [name for name, value in values.items() if value is None]
    if empty:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(empty)}")
    return {name: value for name, value in values.items() if value is not None}


def _changed(resource: Resource, change: Change, old: str | None) -> str | None:
    """The value after one change; None when there is none any more."""
    match change.operation:
        case Operation.SET:
            return change.value
        case Operation.DELETE:
            return None
        case Operation.APPEND | Operation.SUBTRACT:
            return _changed_list(resource, change, old)
        case _:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.operation}")


def _changed_list(resource: Resource, change: Change, old: str | None) -> str:
    row = _definition(resource, change.name)
    verb = Operation(change.operation).name
    if row is None or row.type is not SettingType.LIST:
        raise KafkaError(ErrorCode.INVALID_CONFIG, _not_a_list(resource, change.name, verb))
    text = row.default_text if old is None else old
    items = [item for item in _split(text or "") if item]
    for item in _split(change.value or ""):
        if change.operation == Operation.APPEND and item not in items:
            items.append(item)
        elif change.operation == Operation.SUBTRACT and item in items:
            items.remove(item)  # once: of a value that stands there twice, one is left
    return ",".join(items)


def _split(text: str) -> list[str]:
    """The items of a list as Java's `String.split` finds them: empty ones at the end do not count."""
    items = text.split(",")
    while len(items) > 1 and not items[-1]:
        items.pop()
    return [] if items == [""] and text else items


def _not_a_list(resource: Resource, name: str, verb: str) -> str:
    if resource.type == BROKER_RESOURCE:
        return f"Config value {verb.lower()} is not allowed for config key: {name}"
    return f"Can't {verb} to key {name} because its type is not LIST."


def _definition(resource: Resource, name: str) -> Definition | None:
    if resource.type == TOPIC_RESOURCE:
        return topic_definitions().get(name)
    if resource.type == GROUP_RESOURCE:
        return group_definitions().get(name)
    return broker_definitions().get(name) or inert_definitions().get(name)


def _decide(
    image: Image, resource: Resource, new: dict[str, str], touched: set[str], static: BrokerSettings
) -> list[MetadataRecord]:
    if resource.type == TOPIC_RESOURCE:
        _check_topic(image, resource.name, new, static)
    elif resource.type == GROUP_RESOURCE:
        _check_group(image, resource.name, new, static)
    else:
        _check_min_isr(image, resource.name, new, touched)
        _check_broker(image, resource.name, new, static)
    old = image.config(*resource)
    return [
        ConfigRecord(resource.type, resource.name, name, new.get(name))
        for name in sorted(touched)
        if old.get(name) != new.get(name)
    ]


def _check_topic(image: Image, name: str, new: Mapping[str, str], static: BrokerSettings) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    check_name(name)
    try:
        TopicSettings.from_overrides(new, effective_settings(static, image).topic_defaults)
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    if name not in image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def _check_group(image: Image, name: str, new: Mapping[str, str], static: BrokerSettings) -> None:
    """The group need not exist: it may be configured before its first member comes."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    try:
        check_group_overrides(new, effective_settings(static, image))
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _check_min_isr(image: Image, name: str, new: Mapping[str, str], touched: set[str]) -> None:
    """The controller finds eligible leaders (KIP-966) by one `min.insync.replicas` for all brokers. A broker
    therefore cannot have a value of its own, and the cluster's value cannot be removed."""
    if MIN_ISR not in touched:
        return
    if name != ALL_BROKERS:
        message = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)
    if MIN_ISR in image.config(BROKER_RESOURCE, ALL_BROKERS) and MIN_ISR not in new:
        message = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
        raise KafkaError(ErrorCode.INVALID_CONFIG, message)


def _check_broker(image: Image, name: str, new: Mapping[str, str], static: BrokerSettings) -> None:
    """A value that a broker cannot take is INVALID_REQUEST in Kafka, not INVALID_CONFIG (KAFKA-13609)."""
    node_id = static.node_id if name == ALL_BROKERS else int(name)
    cluster, own = _layers(image, node_id)
    layers = (new, own) if name == ALL_BROKERS else (cluster, new)
    try:
        check_dynamic(static, layers)
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _layers(image: Image, node_id: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    return image.config(BROKER_RESOURCE, ALL_BROKERS), image.config(BROKER_RESOURCE, str(node_id))
