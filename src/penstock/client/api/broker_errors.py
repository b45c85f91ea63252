"""Kafka's error codes as exceptions, under Java's names: for answers that our own connection reads.

The classes here are those that only an `Admin` or a `ShareConsumer` meets; the others are in `exceptions`.
"""

from __future__ import annotations

from typing import Final

from penstock.client.api import exceptions as known
from penstock.client.api.exceptions import (
    ApiException,
    AuthenticationException,
    AuthorizationException,
    InvalidMetadataException,
    KafkaException,
    RetriableException,
    SaslAuthenticationException,
    SslAuthenticationException,
    TimeoutException,
    UnsupportedVersionException,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.wire.errors import (
    DeadlineExceeded,
    Disconnected,
    NotAuthenticated,
    Refused,
    Unreachable,
    Unsupported,
    WireError,
)


class InvalidPartitionsException(ApiException): ...


class InvalidReplicationFactorException(ApiException): ...


class InvalidReplicaAssignmentException(ApiException): ...


class InvalidConfigurationException(ApiException): ...


class InvalidSessionTimeoutException(ApiException): ...


class NotControllerException(RetriableException): ...


class PolicyViolationException(ApiException): ...


class SecurityDisabledException(ApiException): ...


class LogDirNotFoundException(ApiException): ...


class UnsupportedSaslMechanismException(AuthenticationException): ...


class InvalidPidMappingException(ApiException): ...


class InvalidTxnTimeoutException(ApiException): ...


class TransactionCoordinatorFencedException(ApiException): ...


class OperationNotAttemptedException(ApiException): ...


class ReassignmentInProgressException(ApiException): ...


class DelegationTokenDisabledException(ApiException): ...


class DelegationTokenNotFoundException(ApiException): ...


class DelegationTokenOwnerMismatchException(ApiException): ...


class UnsupportedByAuthenticationException(ApiException): ...


class DelegationTokenAuthorizationException(AuthorizationException): ...


class DelegationTokenExpiredException(ApiException): ...


class InvalidPrincipalTypeException(ApiException): ...


class GroupNotEmptyException(ApiException): ...


class GroupIdNotFoundException(ApiException): ...


class TopicDeletionDisabledException(ApiException): ...


class PreferredLeaderNotAvailableException(InvalidMetadataException): ...


class EligibleLeadersNotAvailableException(InvalidMetadataException): ...


class ElectionNotNeededException(InvalidMetadataException): ...


class NoReassignmentInProgressException(ApiException): ...


class GroupSubscribedToTopicException(ApiException): ...


class ThrottlingQuotaExceededException(RetriableException): ...


class ResourceNotFoundException(ApiException): ...


class DuplicateResourceException(ApiException): ...


class UnacceptableCredentialException(ApiException): ...


class InvalidUpdateVersionException(ApiException): ...


class FeatureUpdateFailedException(ApiException): ...


class UnknownTopicIdException(InvalidMetadataException): ...


class BrokerIdNotRegisteredException(ApiException): ...


class TransactionalIdNotFoundException(ApiException): ...


class FencedMemberEpochException(ApiException): ...


class StaleMemberEpochException(ApiException): ...


class UnsupportedAssignorException(ApiException): ...


class InvalidRecordStateException(ApiException): ...


class ShareSessionNotFoundException(RetriableException): ...


class InvalidShareSessionEpochException(RetriableException): ...


class FencedStateEpochException(ApiException): ...


class ShareSessionLimitReachedException(RetriableException): ...


class InvalidVoterKeyException(ApiException): ...


class DuplicateVoterException(ApiException): ...


class VoterNotFoundException(ApiException): ...


_BY_CODE: Final[dict[ErrorCode, type[ApiException]]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: known.UnknownServerException,
    ErrorCode.CORRUPT_MESSAGE: known.CorruptRecordException,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: known.UnknownTopicOrPartitionException,
    ErrorCode.LEADER_NOT_AVAILABLE: known.LeaderNotAvailableException,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: known.NotLeaderOrFollowerException,
    ErrorCode.REQUEST_TIMED_OUT: known.TimeoutException,
    ErrorCode.BROKER_NOT_AVAILABLE: known.BrokerNotAvailableException,
    ErrorCode.MESSAGE_TOO_LARGE: known.RecordTooLargeException,
    ErrorCode.NETWORK_EXCEPTION: known.NetworkException,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: known.CoordinatorLoadInProgressException,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: known.CoordinatorNotAvailableException,
    ErrorCode.NOT_COORDINATOR: known.NotCoordinatorException,
    ErrorCode.INVALID_TOPIC_EXCEPTION: known.InvalidTopicException,
    ErrorCode.RECORD_LIST_TOO_LARGE: known.RecordBatchTooLargeException,
    ErrorCode.NOT_ENOUGH_REPLICAS: known.NotEnoughReplicasException,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: known.NotEnoughReplicasAfterAppendException,
    ErrorCode.ILLEGAL_GENERATION: known.IllegalGenerationException,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: known.InconsistentGroupProtocolException,
    ErrorCode.INVALID_GROUP_ID: known.InvalidGroupIdException,
    ErrorCode.UNKNOWN_MEMBER_ID: known.UnknownMemberIdException,
    ErrorCode.REBALANCE_IN_PROGRESS: known.RebalanceInProgressException,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: known.TopicAuthorizationException,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: known.GroupAuthorizationException,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: known.ClusterAuthorizationException,
    ErrorCode.INVALID_TIMESTAMP: known.InvalidTimestampException,
    ErrorCode.UNSUPPORTED_VERSION: known.UnsupportedVersionException,
    ErrorCode.TOPIC_ALREADY_EXISTS: known.TopicExistsException,
    ErrorCode.INVALID_REQUEST: known.InvalidRequestException,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: known.OutOfOrderSequenceException,
    ErrorCode.INVALID_PRODUCER_EPOCH: known.InvalidProducerEpochException,
    ErrorCode.INVALID_TXN_STATE: known.InvalidTxnStateException,
    ErrorCode.CONCURRENT_TRANSACTIONS: known.ConcurrentTransactionsException,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: known.TransactionalIdAuthorizationException,
    ErrorCode.KAFKA_STORAGE_ERROR: known.KafkaStorageException,
    ErrorCode.SASL_AUTHENTICATION_FAILED: known.SaslAuthenticationException,
    ErrorCode.GROUP_MAX_SIZE_REACHED: known.GroupMaxSizeReachedException,
    ErrorCode.FENCED_INSTANCE_ID: known.FencedInstanceIdException,
    ErrorCode.INVALID_RECORD: known.InvalidRecordException,
    ErrorCode.PRODUCER_FENCED: known.ProducerFencedException,
    ErrorCode.TRANSACTION_ABORTABLE: known.AbortableTransactionException,
    ErrorCode.INVALID_PARTITIONS: InvalidPartitionsException,
    ErrorCode.INVALID_REPLICATION_FACTOR: InvalidReplicationFactorException,
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: InvalidReplicaAssignmentException,
    ErrorCode.INVALID_CONFIG: InvalidConfigurationException,
    ErrorCode.INVALID_SESSION_TIMEOUT: InvalidSessionTimeoutException,
    ErrorCode.NOT_CONTROLLER: NotControllerException,
    ErrorCode.POLICY_VIOLATION: PolicyViolationException,
    ErrorCode.SECURITY_DISABLED: SecurityDisabledException,
    ErrorCode.LOG_DIR_NOT_FOUND: LogDirNotFoundException,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: UnsupportedSaslMechanismException,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingException,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: InvalidTxnTimeoutException,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: TransactionCoordinatorFencedException,
    ErrorCode.OPERATION_NOT_ATTEMPTED: OperationNotAttemptedException,
    ErrorCode.REASSIGNMENT_IN_PROGRESS: ReassignmentInProgressException,
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: DelegationTokenDisabledException,
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: DelegationTokenNotFoundException,
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: DelegationTokenOwnerMismatchException,
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: UnsupportedByAuthenticationException,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: DelegationTokenAuthorizationException,
    ErrorCode.DELEGATION_TOKEN_EXPIRED: DelegationTokenExpiredException,
    ErrorCode.INVALID_PRINCIPAL_TYPE: InvalidPrincipalTypeException,
    ErrorCode.NON_EMPTY_GROUP: GroupNotEmptyException,
    ErrorCode.GROUP_ID_NOT_FOUND: GroupIdNotFoundException,
    ErrorCode.TOPIC_DELETION_DISABLED: TopicDeletionDisabledException,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: PreferredLeaderNotAvailableException,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: EligibleLeadersNotAvailableException,
    ErrorCode.ELECTION_NOT_NEEDED: ElectionNotNeededException,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: NoReassignmentInProgressException,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: GroupSubscribedToTopicException,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: ThrottlingQuotaExceededException,
    ErrorCode.RESOURCE_NOT_FOUND: ResourceNotFoundException,
    ErrorCode.DUPLICATE_RESOURCE: DuplicateResourceException,
    ErrorCode.UNACCEPTABLE_CREDENTIAL: UnacceptableCredentialException,
    ErrorCode.INVALID_UPDATE_VERSION: InvalidUpdateVersionException,
    ErrorCode.FEATURE_UPDATE_FAILED: FeatureUpdateFailedException,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopicIdException,
    ErrorCode.BROKER_ID_NOT_REGISTERED: BrokerIdNotRegisteredException,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: TransactionalIdNotFoundException,
    ErrorCode.FENCED_MEMBER_EPOCH: FencedMemberEpochException,
    ErrorCode.STALE_MEMBER_EPOCH: StaleMemberEpochException,
    ErrorCode.UNSUPPORTED_ASSIGNOR: UnsupportedAssignorException,
    ErrorCode.INVALID_RECORD_STATE: InvalidRecordStateException,
    ErrorCode.SHARE_SESSION_NOT_FOUND: ShareSessionNotFoundException,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH: InvalidShareSessionEpochException,
    ErrorCode.FENCED_STATE_EPOCH: FencedStateEpochException,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED: ShareSessionLimitReachedException,
    ErrorCode.INVALID_VOTER_KEY: InvalidVoterKeyException,
    ErrorCode.DUPLICATE_VOTER: DuplicateVoterException,
    ErrorCode.VOTER_NOT_FOUND: VoterNotFoundException,
}


def from_code(code: ErrorCode, doing: str, message: str | None = None) -> ApiException:
    """The exception for an error code in an answer."""
    said = (message or "").strip().removesuffix(".")
    text = f"Could not {doing}: {said} ({code.name})." if said else f"Could not {doing}: {code.name}."
    kind = _BY_CODE.get(code, RetriableException if KafkaError(code).retriable else ApiException)
    return kind(text, code.name)


def from_wire(error: WireError, doing: str) -> KafkaException:
    """The exception for what went wrong on our own connection."""
    if isinstance(error, Refused):
        return from_code(error.code, doing, str(error))
    text = f"Could not {doing}: {error}."
    if isinstance(error, NotAuthenticated):
        of_tls = "certificate" in str(error) or "TLS" in str(error)
        return (SslAuthenticationException if of_tls else SaslAuthenticationException)(text)
    if isinstance(error, Unsupported):
        return UnsupportedVersionException(text, "UNSUPPORTED_VERSION")
    if isinstance(error, DeadlineExceeded | Unreachable | Disconnected):
        return TimeoutException(text, "REQUEST_TIMED_OUT")
    return ApiException(text)
