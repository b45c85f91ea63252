"""What the client raises: Java's names, in one tree.

    ClientError
    └── KafkaException
        ├── ConfigException                      a setting is unknown, wrong, or cannot be honoured
        ├── SerializationException               a serializer or deserializer failed
        │   └── RecordDeserializationException   of a record; `.topic_partition`, `.offset`
        ├── WakeupException                      `wakeup()` was called
        ├── IllegalStateException                the call does not fit the client's state
        ├── InvalidOffsetException
        │   ├── NoOffsetForPartitionException    no committed offset, and auto.offset.reset=none
        │   └── OffsetOutOfRangeException        the position is outside the log, and auto.offset.reset=none
        ├── CommitFailedException                the group gave the partitions to another member
        └── ApiException                         an error of the broker, or of reaching it; `.error_name`
            ├── RetriableException               the same call may succeed later
            │   ├── TimeoutException
            │   │   └── BufferExhaustedException
            │   ├── NetworkException, BrokerNotAvailableException, CoordinatorNotAvailableException, …
            │   └── NotEnoughReplicasException, NotEnoughReplicasAfterAppendException, …
            ├── UnknownTopicOrPartitionException, InvalidTopicException, …
            ├── RecordTooLargeException, InvalidTimestampException, InvalidRecordException, …
            ├── AuthenticationException          SaslAuthenticationException, SslAuthenticationException
            ├── AuthorizationException           Topic…, Group…, Cluster…, TransactionalId…
            └── ProducerFencedException, InvalidProducerEpochException, OutOfOrderSequenceException,
                FencedInstanceIdException, UnknownMemberIdException, RebalanceInProgressException, …

`from_librdkafka` gives the exception for an error of the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from penstock.client.errors import ClientError
from penstock.protocol.topic_partition import TopicPartition


class KafkaException(ClientError):
    """Every error of the client."""

    code = "kafka_exception"


class ConfigException(KafkaException): ...


class SerializationException(KafkaException): ...


class RecordDeserializationException(SerializationException):
    """Where the record is that could not be read: `topic_partition` and `offset`."""

    def __init__(self, message: str, topic_partition: TopicPartition, offset: int) -> None:
        super().__init__(message)
        self.topic_partition, self.offset = topic_partition, offset


class WakeupException(KafkaException): ...


class IllegalStateException(KafkaException, RuntimeError): ...


class InvalidOffsetException(KafkaException): ...


class NoOffsetForPartitionException(InvalidOffsetException): ...


class OffsetOutOfRangeException(InvalidOffsetException): ...


class CommitFailedException(KafkaException): ...


class ApiException(KafkaException):
    """`error_name` is Kafka's name of the error code, or librdkafka's for its own (they begin with `_`)."""

    def __init__(self, message: str, error_name: str = "") -> None:
        super().__init__(message)
        self.error_name = error_name


class RetriableException(ApiException): ...


class TimeoutException(RetriableException, TimeoutError): ...


class BufferExhaustedException(TimeoutException): ...


class NetworkException(RetriableException): ...


class InvalidMetadataException(RetriableException): ...


class BrokerNotAvailableException(InvalidMetadataException): ...


class CoordinatorNotAvailableException(RetriableException): ...


class CoordinatorLoadInProgressException(RetriableException): ...


class NotCoordinatorException(RetriableException): ...


class NotLeaderOrFollowerException(InvalidMetadataException): ...


class LeaderNotAvailableException(InvalidMetadataException): ...


class UnknownTopicOrPartitionException(InvalidMetadataException): ...


class NotEnoughReplicasException(RetriableException): ...


class NotEnoughReplicasAfterAppendException(RetriableException): ...


class KafkaStorageException(InvalidMetadataException): ...


class CorruptRecordException(RetriableException): ...


class ConcurrentTransactionsException(RetriableException): ...


class RetriableCommitFailedException(RetriableException): ...


class InvalidTopicException(ApiException): ...


class TopicExistsException(ApiException): ...


class RecordTooLargeException(ApiException): ...


class RecordBatchTooLargeException(ApiException): ...


class InvalidTimestampException(ApiException): ...


class InvalidRecordException(ApiException): ...


class InvalidRequestException(ApiException): ...


class UnsupportedVersionException(ApiException): ...


class AuthenticationException(ApiException): ...


class SaslAuthenticationException(AuthenticationException): ...


class SslAuthenticationException(AuthenticationException): ...


class AuthorizationException(ApiException): ...


class TopicAuthorizationException(AuthorizationException): ...


class GroupAuthorizationException(AuthorizationException): ...


class ClusterAuthorizationException(AuthorizationException): ...


class TransactionalIdAuthorizationException(AuthorizationException): ...


class ProducerFencedException(ApiException): ...


class InvalidProducerEpochException(ApiException): ...


class OutOfOrderSequenceException(ApiException): ...


class InvalidTxnStateException(ApiException): ...


class TransactionAbortedException(ApiException): ...


class AbortableTransactionException(ApiException): ...


class FencedInstanceIdException(ApiException): ...


class UnknownMemberIdException(ApiException): ...


class IllegalGenerationException(ApiException): ...


class RebalanceInProgressException(ApiException): ...


class InvalidGroupIdException(ApiException): ...


class InconsistentGroupProtocolException(ApiException): ...


class GroupMaxSizeReachedException(ApiException): ...


class UnknownServerException(ApiException): ...


_BY_NAME: Final[dict[str, type[KafkaException]]] = {
    "_MSG_TIMED_OUT": TimeoutException,
    "_TIMED_OUT": TimeoutException,
    "_TIMED_OUT_QUEUE": TimeoutException,
    "REQUEST_TIMED_OUT": TimeoutException,
    "_QUEUE_FULL": BufferExhaustedException,
    "_TRANSPORT": NetworkException,
    "_ALL_BROKERS_DOWN": NetworkException,
    "_RESOLVE": NetworkException,
    "NETWORK_EXCEPTION": NetworkException,
    "BROKER_NOT_AVAILABLE": BrokerNotAvailableException,
    "COORDINATOR_NOT_AVAILABLE": CoordinatorNotAvailableException,
    "COORDINATOR_LOAD_IN_PROGRESS": CoordinatorLoadInProgressException,
    "NOT_COORDINATOR": NotCoordinatorException,
    "_WAIT_COORD": CoordinatorNotAvailableException,
    "NOT_LEADER_FOR_PARTITION": NotLeaderOrFollowerException,
    "LEADER_NOT_AVAILABLE": LeaderNotAvailableException,
    "UNKNOWN_TOPIC_OR_PART": UnknownTopicOrPartitionException,
    "UNKNOWN_TOPIC_ID": UnknownTopicOrPartitionException,
    "_UNKNOWN_TOPIC": UnknownTopicOrPartitionException,
    "_UNKNOWN_PARTITION": UnknownTopicOrPartitionException,
    "NOT_ENOUGH_REPLICAS": NotEnoughReplicasException,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": NotEnoughReplicasAfterAppendException,
    "KAFKA_STORAGE_ERROR": KafkaStorageException,
    "INVALID_MSG": CorruptRecordException,
    "CONCURRENT_TRANSACTIONS": ConcurrentTransactionsException,
    "TOPIC_EXCEPTION": InvalidTopicException,
    "TOPIC_ALREADY_EXISTS": TopicExistsException,
    "MSG_SIZE_TOO_LARGE": RecordTooLargeException,
    "INVALID_MSG_SIZE": RecordBatchTooLargeException,
    "RECORD_LIST_TOO_LARGE": RecordBatchTooLargeException,
    "INVALID_TIMESTAMP": InvalidTimestampException,
    "INVALID_RECORD": InvalidRecordException,
    "_INVALID_DIFFERENT_RECORD": InvalidRecordException,
    "INVALID_REQUEST": InvalidRequestException,
    "UNSUPPORTED_VERSION": UnsupportedVersionException,
    "_UNSUPPORTED_FEATURE": UnsupportedVersionException,
    "SASL_AUTHENTICATION_FAILED": SaslAuthenticationException,
    "_AUTHENTICATION": SaslAuthenticationException,
    "_SSL": SslAuthenticationException,
    "TOPIC_AUTHORIZATION_FAILED": TopicAuthorizationException,
    "GROUP_AUTHORIZATION_FAILED": GroupAuthorizationException,
    "CLUSTER_AUTHORIZATION_FAILED": ClusterAuthorizationException,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": TransactionalIdAuthorizationException,
    "PRODUCER_FENCED": ProducerFencedException,
    "_FENCED": ProducerFencedException,
    "INVALID_PRODUCER_EPOCH": InvalidProducerEpochException,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": OutOfOrderSequenceException,
    "INVALID_TXN_STATE": InvalidTxnStateException,
    "TRANSACTION_ABORTABLE": AbortableTransactionException,
    "_PURGE_QUEUE": TransactionAbortedException,
    "_PURGE_INFLIGHT": TransactionAbortedException,
    "FENCED_INSTANCE_ID": FencedInstanceIdException,
    "_MAX_POLL_EXCEEDED": CommitFailedException,
    "UNKNOWN_MEMBER_ID": UnknownMemberIdException,
    "ILLEGAL_GENERATION": IllegalGenerationException,
    "STALE_MEMBER_EPOCH": IllegalGenerationException,
    "REBALANCE_IN_PROGRESS": RebalanceInProgressException,
    "INVALID_GROUP_ID": InvalidGroupIdException,
    "INCONSISTENT_GROUP_PROTOCOL": InconsistentGroupProtocolException,
    "GROUP_MAX_SIZE_REACHED": GroupMaxSizeReachedException,
    "OFFSET_OUT_OF_RANGE": OffsetOutOfRangeException,
    "_NO_OFFSET": NoOffsetForPartitionException,
    "_AUTO_OFFSET_RESET": NoOffsetForPartitionException,
    "_STATE": IllegalStateException,
    "_INVALID_ARG": ConfigException,
    "UNKNOWN": UnknownServerException,
}


def from_librdkafka(error: Any, doing: str = "") -> KafkaException:
    """The exception for a `KafkaError`, or for a `KafkaException` of the binding around one."""
    kafka_error = error.args[0] if isinstance(error, Exception) and error.args else error
    if not hasattr(kafka_error, "name"):
        return KafkaException(f"{doing}: {error}" if doing else str(error))
    name, text = kafka_error.name(), kafka_error.str().strip().removesuffix(".")
    message = f"Could not {doing}: {text} ({name})." if doing else f"{text} ({name})."
    kind = _BY_NAME.get(name, RetriableException if kafka_error.retriable() else ApiException)
    if name == "_AUTO_OFFSET_RESET" and "out of range" in text.lower():
        kind = OffsetOutOfRangeException  # the library has one error for both, and says which in its text
    if issubclass(kind, ApiException):
        return kind(message, name)
    return kind(message)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """The library's exceptions leave as ours."""
    import confluent_kafka

    try:
        yield
    except confluent_kafka.KafkaException as error:
        raise from_librdkafka(error, doing) from error
