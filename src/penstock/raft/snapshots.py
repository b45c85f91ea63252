"""Snapshots on their way from the leader to a follower that is too far behind for the log (KIP-630)."""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode
from penstock.raft import answers
from penstock.raft.leading import hear
from penstock.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.raft.roles import Asked, FetchingSnapshot, Follower, Leader
from penstock.raft.state import State
from penstock.raft.transitions import observe
from penstock.raft.voter_replay import voters_of_snapshot


def ask_for_chunk(state: State, follower: Follower, fetching: FetchingSnapshot) -> None:
    request = FetchSnapshotRequest(
        source=state.node_id,
        destination=follower.leader_id,
        correlation_id=state.next_correlation_id(),
        epoch=state.epoch,
        snapshot=fetching.snapshot,
        position=fetching.position,
    )
    state.outbox.append(request)
    follower.asked = Asked(request.correlation_id, state.now_ms() + state.timeouts.request_timeout_ms)


def on_fetch_snapshot_request(state: State, request: FetchSnapshotRequest) -> None:
    leader = state.role
    error, size_bytes, data = ErrorCode.NONE, 0, b""
    if not isinstance(leader, Leader):
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    elif request.epoch < state.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    elif request.epoch > state.epoch:
        error = ErrorCode.UNKNOWN_LEADER_EPOCH
    else:
        hear(state, leader, request.source)
        chunk = state.log.read_snapshot(request.snapshot, request.position, state.timeouts.snapshot_max_bytes)
        if chunk is None:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        elif not 0 <= request.position <= chunk.size_bytes:
            error = ErrorCode.POSITION_OUT_OF_RANGE
        else:
            size_bytes, data = chunk.size_bytes, chunk.data
    response = FetchSnapshotResponse(
        **answers.to(request, state, error),
        snapshot=request.snapshot,
        size_bytes=size_bytes,
        position=request.position,
        chunk=data,
    )
    state.outbox.append(response)


def on_fetch_snapshot_response(state: State, response: FetchSnapshotResponse) -> None:
    observe(state, response)
    follower = state.role
    if not isinstance(follower, Follower) or follower.asked is None or follower.snapshot is None:
        return
    if follower.asked.correlation_id != response.correlation_id or response.epoch != state.epoch:
        return
    follower.asked = None
    fetching = follower.snapshot
    if response.error is not ErrorCode.NONE or response.position != fetching.position:
        # The leader has a newer snapshot, or there is another leader. An ordinary fetch will find out.
        follower.snapshot = None
        follower.retry_at = state.now_ms() + state.timeouts.retry_backoff_ms
        return
    follower.fetch_deadline = state.now_ms() + state.timeouts.fetch_timeout_ms
    follower.has_fetched = True
    state.log.receive_snapshot(fetching.snapshot, fetching.position, response.chunk)
    fetching.position += len(response.chunk)
    if fetching.position >= response.size_bytes:
        _install(state, follower, fetching)


def _install(state: State, follower: Follower, fetching: FetchingSnapshot) -> None:
    """The log begins anew where the snapshot ends. What a leader has in a snapshot is committed."""
    follower.snapshot = None
    if fetching.snapshot.offset <= state.high_watermark:
        return  # meanwhile this log came as far by itself
    state.log.install_snapshot(fetching.snapshot)
    state.high_watermark = fetching.snapshot.offset
    state.installed = fetching.snapshot
    named = voters_of_snapshot(state.log, fetching.snapshot)
    state.voter_history.begin_at(fetching.snapshot.offset, named)
