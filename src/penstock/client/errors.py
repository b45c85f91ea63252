"""What a client call may raise, and how librdkafka's errors become it.

    ClientError                 every error of this package; its text is a sentence for a person
    ├── BrokerUnreachable       nobody answered at the given addresses before the deadline
    ├── NotAuthenticated        the broker refused our credentials, or we refused its certificate
    ├── TopicNotFound           no topic of that name
    ├── PartitionNotFound       the topic has no such partition
    ├── GroupNotFound           no consumer group of that name
    ├── TopicExists             the name is taken
    ├── InvalidValue            the caller or the broker refused a value
    ├── Unsupported             this broker does not know the request
    ├── UnfitTopic              a topic cannot be replayed: not compacted, or several partitions
    ├── RecordTooLarge          a record is larger than its replayed topic takes
    ├── NotReadBack             a write was not read back before the deadline; it may count later
    ├── Overtaken               other writers of a replayed topic were faster, many times
    ├── ReplayFailed            a replayed topic can be read no more by this process
    └── BrokerRefused           any other error code of Kafka's, kept in `.kafka_code`

Each sentence names the value that was wrong and what to do about it. Nothing here talks to a broker.
"""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Every error of `penstock.client`; `code` is a short stable word for programs."""

    code = "client_error"


class BrokerUnreachable(ClientError):
    code = "broker_unreachable"

    def __init__(self, bootstrap_servers: str, timeout_s: float, reason: str = "") -> None:
        self.bootstrap_servers = bootstrap_servers
        self.reason = reason
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"No broker answered at {bootstrap_servers} within {timeout_s:g} s{because}. "
            "Check that the broker runs, and that host and port are the ones it listens on."
        )


class NotAuthenticated(ClientError):
    code = "not_authenticated"

    def __init__(self, bootstrap_servers: str, reason: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        super().__init__(
            f"No access to the broker at {bootstrap_servers}: {_without_full_stop(reason)}. Check "
            "security.protocol, sasl.mechanism, the user and password, and whose certificates are trusted."
        )


class TopicNotFound(ClientError):
    code = "topic_not_found"

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(f"There is no topic named {topic!r}. Check the spelling, or create it first.")


class PartitionNotFound(ClientError):
    code = "partition_not_found"

    def __init__(self, topic: str, partition: int, partitions: int) -> None:
        last = f"0 to {partitions - 1}" if partitions > 1 else "0 only"
        super().__init__(f"Topic {topic!r} has no partition {partition}. Its partitions are {last}.")


class GroupNotFound(ClientError):
    code = "group_not_found"

    def __init__(self, group_id: str) -> None:
        super().__init__(f"There is no consumer group named {group_id!r}.")


class TopicExists(ClientError):
    code = "topic_exists"

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(f"A topic named {topic!r} exists already. Choose another name, or delete it first.")


class InvalidValue(ClientError):
    code = "invalid_value"


class Unsupported(ClientError):
    code = "unsupported"


class UnfitTopic(ClientError):
    code = "unfit_topic"

    def __init__(self, topic: str, policy: str, partitions: int) -> None:
        super().__init__(
            f"Topic {topic} has cleanup.policy={policy} and {partitions} partitions: records would be lost "
            "or out of order. It needs cleanup.policy=compact and one partition."
        )


class RecordTooLarge(ClientError):
    code = "record_too_large"

    def __init__(self, topic: str, size_bytes: int, size_max: int) -> None:
        self.size_bytes, self.size_max = size_bytes, size_max
        super().__init__(f"A record of {size_bytes} bytes is too large for {topic}, which takes {size_max}.")


class NotReadBack(ClientError):
    code = "not_read_back"

    def __init__(self, topic: str, offset: int, timeout_s: float) -> None:
        super().__init__(
            f"Offset {offset} of {topic} was not read in {timeout_s:g} s. What was written may count later."
        )


class Overtaken(ClientError):
    code = "overtaken"

    def __init__(self, topic: str, attempts: int) -> None:
        super().__init__(f"Other writers of {topic} were faster, {attempts} times. Try again.")


class ReplayFailed(ClientError):
    code = "replay_failed"


class BrokerRefused(ClientError):
    code = "broker_refused"

    def __init__(self, message: str, kafka_code: str) -> None:
        self.kafka_code = kafka_code
        super().__init__(message)


def is_denied(error: ClientError) -> bool:
    """Whether the broker does not let this principal: by the name of Kafka's code. An `ApiException` of
    `penstock.client.api` keeps it in `error_name`."""
    name = error.kafka_code if isinstance(error, BrokerRefused) else getattr(error, "error_name", None)
    return isinstance(name, str) and name.endswith("AUTHORIZATION_FAILED")


UNREACHABLE = {
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_RESOLVE",
    "_TIMED_OUT_QUEUE",
    "_MSG_TIMED_OUT",
}
NOT_FOUND = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID"}
INVALID = {
    "TOPIC_EXCEPTION": "Topic names have 1 to 249 letters, digits, dots, underscores and hyphens.",
    "INVALID_PARTITIONS": "Ask for at least one partition, and for more than there are when adding some.",
    "INVALID_REPLICATION_FACTOR": "Ask for at least one replica, and for no more than there are brokers.",
    "INVALID_CONFIG": "Check the names and values of the topic settings.",
    "INVALID_REQUEST": "Check the values of the request.",
    "INVALID_REPLICA_ASSIGNMENT": "Check the broker ids of the replicas.",
    "POLICY_VIOLATION": "A policy of the broker forbids it.",
    "MSG_SIZE_TOO_LARGE": "Send a smaller record, or raise max.message.bytes of the topic.",
    "INVALID_TIMESTAMP": "Use a timestamp within the topic's message.timestamp limits.",
    "INVALID_RECORD": "A compacted topic needs a key in every record.",
    "_INVALID_ARG": "Check the values of the request.",
}
UNSUPPORTED = {"UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"}


def translate(
    error: Any, *, doing: str, topic: str | None, bootstrap_servers: str, timeout_s: float, reason: str = ""
) -> ClientError:
    """The exception for a `KafkaError` (or a `KafkaException` around one) met while `doing` something."""
    kafka_error = error.args[0] if isinstance(error, Exception) and error.args else error
    if not hasattr(kafka_error, "name"):
        return BrokerRefused(f"Could not {doing}: {error}.", type(error).__name__)
    name, detail = kafka_error.name(), _without_full_stop(kafka_error.str())
    if name in UNREACHABLE:
        return BrokerUnreachable(bootstrap_servers, timeout_s, reason)
    if name in NOT_FOUND and topic is not None:
        return TopicNotFound(topic)
    if name == "TOPIC_ALREADY_EXISTS" and topic is not None:
        return TopicExists(topic)
    if name in INVALID:
        return InvalidValue(f"Could not {doing}: {detail}. {INVALID[name]}")
    if name in UNSUPPORTED:
        return Unsupported(f"Could not {doing}: the broker at {bootstrap_servers} does not support it.")
    return BrokerRefused(f"Could not {doing}: {detail} ({name}).", name)


def _without_full_stop(text: str) -> str:
    return text.strip().removesuffix(".")
