"""Errors of the REST Proxy: Confluent's numbers, and what becomes of an error of the Kafka client.

The first three digits of a code are the HTTP status. `RestError` is raised anywhere below the routes; the
shell turns it into `{"error_code": …, "message": …}` in one place.
"""

from __future__ import annotations

from penstock.client.errors import (
    BrokerRefused,
    BrokerUnreachable,
    ClientError,
    GroupNotFound,
    InvalidValue,
    PartitionNotFound,
    TopicExists,
    TopicNotFound,
    Unsupported,
)
from penstock.client.schema_registry import NoRegistryAnswers, NotRegistered, RegistryError, RegistryRefused
from penstock.web.errors import HttpError

BAD_REQUEST = 400
KAFKA_BAD_REQUEST = 40002
API_VERSION_NOT_SUPPORTED = 40035
AUTHENTICATION = 40101
AUTHORIZATION = 40301
TOPIC_NOT_FOUND = 40401
PARTITION_NOT_FOUND = 40402
INSTANCE_NOT_FOUND = 40403
UNKNOWN_TOPIC_OR_PARTITION = 40403
"""Version 3 has the same number for a topic that the broker does not host."""
GROUP_NOT_FOUND = 40405
FORMAT_MISMATCH = 40601
SCHEMA_REGISTRY_FAILED = 40801
INSTANCE_EXISTS = 40902
ILLEGAL_STATE = 40903
BODY_TOO_LARGE = 413
KEY_SCHEMA_MISSING = 42201
VALUE_SCHEMA_MISSING = 42202
CONVERSION_FAILED = 42203
INVALID_CONSUMER_CONFIG = 42204
INVALID_SCHEMA = 42205
INVALID_PAYLOAD = 42206
SERIALISATION_FAILED = 42207
INVALID_BATCH = 42208
TOO_MANY = 42901
KAFKA_ERROR = 50002
KAFKA_RETRIABLE = 50003
NOT_SUPPORTED = 50101
UNAVAILABLE = 50302

RETRIABLE = {
    "_MSG_TIMED_OUT",
    "_QUEUE_FULL",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "REQUEST_TIMED_OUT",
}
UNKNOWN_PARTITION = "_UNKNOWN_PARTITION"
AUTHENTICATION_NAMES = {"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"}


class RestError(HttpError):
    """An answer that is an error; the status is the first three digits of the code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(int(str(code)[:3]), message, code)


def bad_request(message: str) -> RestError:
    return RestError(BAD_REQUEST, message)


def topic_not_found(topic: str) -> RestError:
    return RestError(TOPIC_NOT_FOUND, f"Topic not found: there is no topic named {topic!r}.")


def partition_not_found(topic: str, partition: int) -> RestError:
    return RestError(
        PARTITION_NOT_FOUND, f"Partition not found: topic {topic!r} has no partition {partition}."
    )


def from_client(error: ClientError) -> RestError:
    """The answer for what a Kafka client raised."""
    message = str(error)
    match error:
        case TopicNotFound():
            return RestError(UNKNOWN_TOPIC_OR_PARTITION, message)
        case PartitionNotFound():
            return RestError(PARTITION_NOT_FOUND, message)
        case GroupNotFound():
            return RestError(GROUP_NOT_FOUND, message)
        case TopicExists() | InvalidValue():
            return RestError(KAFKA_BAD_REQUEST, message)
        case Unsupported():
            return RestError(NOT_SUPPORTED, message)
        case BrokerUnreachable():
            return RestError(UNAVAILABLE, message)
        case BrokerRefused(kafka_code=name):
            return RestError(code_of(name), message)
        case _:
            return RestError(KAFKA_ERROR, message)


def from_registry(error: RegistryError) -> RestError:
    """The answer for what the client of the Schema Registry raised."""
    match error:
        case NotRegistered() | RegistryRefused(status=409):
            return RestError(SERIALISATION_FAILED, f"Error serializing message. {error} ({error.code})")
        case RegistryRefused(status=422):
            return RestError(INVALID_SCHEMA, f"Invalid schema: {error.message} ({error.code})")
        case NoRegistryAnswers() | RegistryError():
            return RestError(SCHEMA_REGISTRY_FAILED, f"Schema registration or lookup failed: {error}")


def code_of(kafka_name: str) -> int:
    """The code for the name of a Kafka error."""
    if kafka_name == UNKNOWN_PARTITION:
        return PARTITION_NOT_FOUND
    if kafka_name in AUTHENTICATION_NAMES:
        return AUTHENTICATION
    if kafka_name.endswith("_AUTHORIZATION_FAILED"):
        return AUTHORIZATION
    if kafka_name in ("SECURITY_DISABLED", "NON_EMPTY_GROUP"):
        return KAFKA_BAD_REQUEST
    if kafka_name in RETRIABLE:
        return KAFKA_RETRIABLE
    return KAFKA_ERROR
