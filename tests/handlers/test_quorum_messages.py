"""The quorum's messages in Kafka's format: what is written is read, whatever is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.handlers.quorum import messages as wire
from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Reader
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
    VoteRequest,
    VoteResponse,
)

nodes = st.integers(0, 2**31 - 1)
epochs = st.integers(0, 2**31 - 1)
offsets = st.integers(0, 2**63 - 1)
places = st.builds(OffsetAndEpoch, offsets, epochs)
ends = {"source": nodes, "destination": nodes, "correlation_id": st.integers(0, 2**31 - 1), "epoch": epochs}

requests = st.one_of(
    st.builds(VoteRequest, **ends, log_end=places, pre_vote=st.booleans()),
    st.builds(BeginQuorumEpochRequest, **ends),
    st.builds(EndQuorumEpochRequest, **ends, successors=st.lists(nodes, max_size=5).map(tuple)),
    st.builds(
        FetchRequest,
        **ends,
        fetch_offset=offsets,
        last_fetched_epoch=epochs,
        high_watermark=offsets,
        max_wait_ms=st.integers(0, 60_000),
    ),
    st.builds(FetchSnapshotRequest, **ends, snapshot=places, position=offsets),
)


@given(requests)
def test_a_request_is_read_as_it_was_written(request: Request) -> None:
    api = wire.api_of(request)
    data = wire.encode_request(request, "a-cluster")
    reader = Reader(memoryview(data))
    assert (
        wire.read_request(api, wire.VERSIONS[api], reader, request.destination, request.correlation_id)
        == request
    )


@st.composite
def answered(draw: st.DrawFn) -> tuple[Request, Response]:
    request = draw(requests)
    common = {
        "source": request.destination,
        "destination": request.source,
        "correlation_id": request.correlation_id,
        "epoch": draw(epochs),
        "leader_id": draw(st.none() | nodes),
        "error": draw(st.sampled_from([ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH])),
    }
    match request:
        case VoteRequest():
            return request, VoteResponse(**common, granted=draw(st.booleans()), pre_vote=request.pre_vote)
        case BeginQuorumEpochRequest():
            return request, BeginQuorumEpochResponse(**common)
        case EndQuorumEpochRequest():
            return request, EndQuorumEpochResponse(**common)
        case FetchRequest():
            told = draw(st.sampled_from(["batches", "diverging", "snapshot"]))
            value = draw(st.binary(max_size=100) if told == "batches" else places)
            return request, FetchResponse(**common, high_watermark=draw(offsets), **{told: value})
        case FetchSnapshotRequest():
            chunk, size = draw(st.binary(max_size=100)), draw(offsets)
            return request, FetchSnapshotResponse(
                **common, snapshot=request.snapshot, size_bytes=size, position=request.position, chunk=chunk
            )


@given(answered())
def test_an_answer_is_read_as_it_was_written(pair: tuple[Request, Response]) -> None:
    request, response = pair
    assert wire.read_response(request, wire.encode_response(response)) == response
