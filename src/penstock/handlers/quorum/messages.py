"""The quorum's messages in Kafka's wire format: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and
FetchSnapshot.

One version of each is spoken, the newest that Kafka 4.2 knows. Each message is about one partition,
`__cluster_metadata` 0; one that is not is malformed. Who sent an answer, and to what, is known by the
connection it came on.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import METADATA_TOPIC, METADATA_TOPIC_ID
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_request as encode_request_body
from penstock.protocol.messages import encode_response as encode_response_body
from penstock.protocol.messages import milliseconds
from penstock.protocol.messages import read_request as read_request_body
from penstock.protocol.messages import read_response as read_response_body
from penstock.protocol.primitives import ZERO_UUID, MalformedMessage, Reader
from penstock.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OffsetAndEpoch,
    Request,
    Response,
    ResponseMessage,
    VoteRequest,
    VoteResponse,
)

VERSIONS: Final[dict[Api, int]] = {
    Api.VOTE: 2,
    Api.BEGIN_QUORUM_EPOCH: 1,
    Api.END_QUORUM_EPOCH: 1,
    Api.FETCH: 18,
    Api.FETCH_SNAPSHOT: 1,
}
MAX_BYTES: Final = 8 * 1024 * 1024
NOBODY: Final = -1
_NOWHERE: Final = -1


def api_of(message: Request | Response) -> Api:
    match message:
        case VoteRequest() | VoteResponse():
            return Api.VOTE
        case BeginQuorumEpochRequest() | BeginQuorumEpochResponse():
            return Api.BEGIN_QUORUM_EPOCH
        case EndQuorumEpochRequest() | EndQuorumEpochResponse():
            return Api.END_QUORUM_EPOCH
        case FetchRequest() | FetchResponse():
            return Api.FETCH
    return Api.FETCH_SNAPSHOT


# Requests


def encode_request(request: Request, cluster_id: str) -> bytes:
    """The body of a request, in the version that is spoken."""
    fields: dict[str, Any] = {"cluster_id": cluster_id}
    match request:
        case VoteRequest():
            fields |= {"voter_id": request.destination, "topics": _named(_vote(request))}
        case BeginQuorumEpochRequest():
            led = {
                "voter_directory_id": ZERO_UUID,
                "leader_id": request.source,
                "leader_epoch": request.epoch,
            }
            fields |= {"voter_id": request.destination, "topics": _named(led), "leader_endpoints": ()}
        case EndQuorumEpochRequest():
            candidates = [
                {"candidate_id": node, "candidate_directory_id": ZERO_UUID} for node in request.successors
            ]
            led = {
                "leader_id": request.source,
                "leader_epoch": request.epoch,
                "preferred_candidates": candidates,
            }
            fields |= {"topics": _named(led), "leader_endpoints": ()}
        case FetchRequest():
            fields |= _fetch(request)
        case FetchSnapshotRequest():
            fields |= _fetch_snapshot(request)
    api = api_of(request)
    return encode_request_body(api, VERSIONS[api], fields)


def read_request(
    api: Api, version: int, reader: Reader, node_id: int, correlation_id: int, cluster_id: str | None = None
) -> Request:
    """A request to this node. `correlation_id` is our own number for it, by which its answer is found
    again. KafkaError when it belongs to another cluster than `cluster_id`."""
    body = read_request_body(api, version, reader)
    if cluster_id is not None and body.cluster_id not in (None, cluster_id):
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {cluster_id}")
    part = _only(body.topics)
    common = {"destination": node_id, "correlation_id": correlation_id}
    if api is Api.VOTE:
        return VoteRequest(
            **common,
            source=part.replica_id,
            epoch=part.replica_epoch,
            log_end=OffsetAndEpoch(part.last_offset, part.last_offset_epoch),
            pre_vote=part.pre_vote,
        )
    if api is Api.BEGIN_QUORUM_EPOCH:
        return BeginQuorumEpochRequest(**common, source=part.leader_id, epoch=part.leader_epoch)
    if api is Api.END_QUORUM_EPOCH:
        successors = tuple(candidate.candidate_id for candidate in part.preferred_candidates)
        return EndQuorumEpochRequest(
            **common, source=part.leader_id, epoch=part.leader_epoch, successors=successors
        )
    if api is Api.FETCH:
        return FetchRequest(
            **common,
            source=body.replica_state.replica_id,
            epoch=part.current_leader_epoch,
            fetch_offset=part.fetch_offset,
            last_fetched_epoch=part.last_fetched_epoch,
            high_watermark=part.high_watermark,
            max_wait_ms=milliseconds(body.max_wait),
        )
    return FetchSnapshotRequest(
        **common,
        source=body.replica_id,
        epoch=part.current_leader_epoch,
        snapshot=OffsetAndEpoch(part.snapshot_id.end_offset, part.snapshot_id.epoch),
        position=part.position,
    )


def _vote(request: VoteRequest) -> dict[str, Any]:
    return {
        "replica_epoch": request.epoch,
        "replica_id": request.source,
        "replica_directory_id": ZERO_UUID,
        "voter_directory_id": ZERO_UUID,
        "last_offset_epoch": request.log_end.epoch,
        "last_offset": request.log_end.offset,
        "pre_vote": request.pre_vote,
    }


def _fetch(request: FetchRequest) -> dict[str, Any]:
    partition = {
        "partition": 0,
        "current_leader_epoch": request.epoch,
        "fetch_offset": request.fetch_offset,
        "last_fetched_epoch": request.last_fetched_epoch,
        "partition_max_bytes": MAX_BYTES,
        "high_watermark": request.high_watermark,
    }
    return {
        "replica_state": {"replica_id": request.source},
        "max_wait": request.max_wait_ms,
        "min_bytes": 0,
        "max_bytes": MAX_BYTES,
        "topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}],
        "forgotten_topics_data": (),
    }


def _fetch_snapshot(request: FetchSnapshotRequest) -> dict[str, Any]:
    partition = {
        "partition": 0,
        "current_leader_epoch": request.epoch,
        "snapshot_id": _place(request.snapshot),
        "position": request.position,
    }
    topics = [{"name": METADATA_TOPIC, "partitions": [partition]}]
    return {"replica_id": request.source, "max_bytes": MAX_BYTES, "topics": topics}


# Answers


def encode_response(response: Response) -> bytes:
    """The body of an answer, in the version that is spoken."""
    api = api_of(response)
    fields: dict[str, Any] = {"error_code": ErrorCode.NONE, "throttle_time": 0}
    match response:
        case FetchResponse():
            fields["responses"] = [{"topic_id": METADATA_TOPIC_ID, "partitions": [_fetched(response)]}]
        case FetchSnapshotResponse():
            fields["topics"] = [{"name": METADATA_TOPIC, "partitions": [_chunk(response)]}]
        case VoteResponse():
            fields["topics"] = _named({**_leader(response), "vote_granted": response.granted})
        case _:
            fields["topics"] = _named(_leader(response))
    return encode_response_body(api, VERSIONS[api], fields)


def encode_refusal(api: Api, code: ErrorCode) -> bytes:
    """An answer that says of the whole message what is wrong with it."""
    fields = {"error_code": code, "throttle_time": 0, "topics": (), "responses": ()}
    return encode_response_body(api, VERSIONS[api], fields)


def read_response(request: Request, data: bytes) -> Response:
    """The answer to `request`; KafkaError when the whole message was refused."""
    api = api_of(request)
    body = read_response_body(api, VERSIONS[api], data)
    if body.error_code:
        raise KafkaError(ErrorCode(int(body.error_code)), f"{api.name} was refused")
    part = _only(body.responses if api is Api.FETCH else body.topics)
    named = part.current_leader if api in (Api.FETCH, Api.FETCH_SNAPSHOT) else part
    common: dict[str, Any] = {
        "source": request.destination,
        "destination": request.source,
        "correlation_id": request.correlation_id,
        "epoch": named.leader_epoch,
        "leader_id": None if named.leader_id == NOBODY else named.leader_id,
        "error": ErrorCode(int(part.error_code)),
    }
    match request:
        case VoteRequest():
            return VoteResponse(**common, granted=part.vote_granted, pre_vote=request.pre_vote)
        case BeginQuorumEpochRequest():
            return BeginQuorumEpochResponse(**common)
        case EndQuorumEpochRequest():
            return EndQuorumEpochResponse(**common)
        case FetchRequest():
            return FetchResponse(
                **common,
                high_watermark=max(0, part.high_watermark),
                batches=bytes(part.records or b""),
                diverging=_where(part.diverging_epoch.end_offset, part.diverging_epoch.epoch),
                snapshot=_where(part.snapshot_id.end_offset, part.snapshot_id.epoch),
            )
        case FetchSnapshotRequest():
            return FetchSnapshotResponse(
                **common,
                snapshot=OffsetAndEpoch(part.snapshot_id.end_offset, part.snapshot_id.epoch),
                size_bytes=part.size,
                position=part.position,
                chunk=bytes(part.unaligned_records or b""),
            )


def _leader(answer: ResponseMessage) -> dict[str, Any]:
    leader_id = NOBODY if answer.leader_id is None else answer.leader_id
    return {"error_code": answer.error, "leader_id": leader_id, "leader_epoch": answer.epoch}


def _fetched(response: FetchResponse) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "partition_index": 0,
        "error_code": response.error,
        "high_watermark": response.high_watermark,
        "current_leader": _leader(response),
        "aborted_transactions": None,
        "records": response.batches,
    }
    if response.diverging is not None:
        fields["diverging_epoch"] = _place(response.diverging)
    if response.snapshot is not None:
        fields["snapshot_id"] = _place(response.snapshot)
    return fields


def _chunk(response: FetchSnapshotResponse) -> dict[str, Any]:
    return {
        "index": 0,
        "error_code": response.error,
        "snapshot_id": _place(response.snapshot),
        "current_leader": _leader(response),
        "size": response.size_bytes,
        "position": response.position,
        "unaligned_records": response.chunk,
    }


def _named(partition: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0, **partition}]}]


def _place(where: OffsetAndEpoch) -> dict[str, int]:
    return {"end_offset": where.offset, "epoch": where.epoch}


def _where(offset: int, epoch: int) -> OffsetAndEpoch | None:
    return None if offset == _NOWHERE else OffsetAndEpoch(offset, epoch)


def _only(topics: Any) -> Any:
    """The one partition that a message of the quorum is about."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise MalformedMessage("a message of the quorum is about one partition")
    return topics[0].partitions[0]
