"""The controller of one node: decisions are serialised, committed by the quorum, and only then followed.

Every node has one. `image` is what was committed and followed here; watchers bring the node in line with
it. On the active controller, which is the quorum's leader once everything before its epoch is committed,
decisions are taken on the image of the log's end, where what was decided before stands already, committed
or not.

With one voter everything happens within `submit`. With several, `server.cluster.quorum_driver` calls
`step`, `tick` and `follow` from its threads, and the simulator does in its one.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from penstock.controller.image import Image, replay
from penstock.controller.image_records import records_of
from penstock.controller.metadata_records import MetadataRecord, decode, encode
from penstock.controller.quorum import Quorum
from penstock.coordinator.promise import Promise
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.raft.messages import Request, Response
from penstock.raft.roles import Leader
from penstock.raft.state import State
from penstock.storage.errors import NoSpace

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = (1).to_bytes(16, "big")

_log = logging.getLogger(__name__)

_EMPTY: Final = Image()
Result = TypeVar("Result")
Decision = tuple[list[MetadataRecord], Result]


class Watcher(Protocol):
    """Brings the broker in line with the metadata: makes logs for new partitions, removes those of deleted
    topics."""

    def follow(self, old: Image, new: Image) -> None: ...


class _Proposed(NamedTuple):
    """A decision on its way: done when everything below `end_offset` is committed."""

    end_offset: int
    promise: Promise[Any]
    result: Any


class Controller:
    """Owns the image. Any thread may read `image` at any time; it changes by replay only."""

    def __init__(self, quorum: Quorum, bootstrap: Sequence[MetadataRecord] = ()) -> None:
        """`bootstrap` is what this node proposes when it is the first active controller of a new cluster."""
        self.quorum = quorum
        self._bootstrap = bootstrap
        self._bootstrap_image = replay(Image(), bootstrap)
        self._lock = RLock()  # the quorum, what it has committed, and what is decided
        self._following = RLock()  # one follows at a time; taken before the other
        self._watchers: list[Watcher] = []
        self._committed = Image()  # all that is committed, followed or not
        self._committed_offset = 0  # `_committed` holds everything below
        self._decided: Image | None = None  # that of the log's end, on the active controller only
        self._office_epoch = -1
        self._proposed: deque[_Proposed] = deque()
        self.on_news: Callable[[], None] = lambda: None
        """Called, with a lock held, when there may be something to follow or another deadline."""
        self._load()
        self.image = self._committed
        self._followed_offset = self._committed_offset

    @property
    def last_offset(self) -> int:
        """The offset of the last record that is in the image; -1 when there is none yet."""
        return self._followed_offset - 1

    @property
    def image_or_bootstrap(self) -> Image:
        """The image; while nothing is known of the cluster, what this node would propose for a new one. The
        first controllers prove themselves to each other by it, before any of them can lead."""
        return self._bootstrap_image if self.image == _EMPTY else self.image

    @property
    def is_active(self) -> bool:
        """Whether decisions are taken here."""
        return self._decided is not None

    @property
    def active_id(self) -> int | None:
        """The node that takes decisions, as far as it is known here."""
        return self.quorum.raft.leader_id

    @property
    def next_offset(self) -> int:
        """Where the first record of a decision will stand; within `decide` only."""
        return self.quorum.end_offset

    # Following

    def watch(self, watcher: Watcher) -> None:
        """Follow from the present image on; the first call brings everything."""
        with self._following:
            watcher.follow(Image(), self.image)
            self._watchers.append(watcher)

    def refresh(self, *watchers: Watcher) -> None:
        """Let these follow once more, from the beginning: what stood in their way may be gone."""
        with self._following:
            for watcher in watchers:
                watcher.follow(Image(), self.image)

    def follow(self) -> None:
        """Bring the image and its watchers to what is committed."""
        with self._following:
            with self._lock:
                new, offset = self._committed, self._committed_offset
            if new is not self.image:
                old, self.image = self.image, new
                for watcher in self._watchers:
                    watcher.follow(old, new)
            self._followed_offset = max(self._followed_offset, offset)
        if self.quorum.is_alone:
            with self._lock:
                self._keep_promises(self._followed_offset)

    def _keep_promises(self, offset: int) -> None:
        while self._proposed and self._proposed[0].end_offset <= offset:
            proposed = self._proposed.popleft()
            proposed.promise.complete(proposed.result)

    # Deciding

    def submit(self, decide: Callable[[Image], Decision[Result]]) -> Promise[Result]:
        """Take one decision. Its promise is done when it is committed; with one voter that is on return, and
        everybody here has followed. It fails with what `decide` raises, and with NOT_CONTROLLER
        when this node is not the active controller or stops being it; then nobody knows whether it will be
        committed."""
        promise: Promise[Result] = Promise()
        try:
            with self._lock:
                self._decide(decide, promise)
        except KafkaError as error:
            promise.fail(error)
            return promise
        except NoSpace as error:
            promise.fail(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
            return promise
        if self.quorum.is_alone:
            self.follow()
        return promise

    def _decide(self, decide: Callable[[Image], Decision[Result]], promise: Promise[Result]) -> None:
        if self._decided is None:
            raise not_controller()
        records, result = decide(self._decided)
        if records:
            self.quorum.propose([encode(record) for record in records])
            self._decided = replay(self._decided, records)
        self._proposed.append(_Proposed(self.quorum.end_offset, promise, result))
        if records:
            self._turn()
        elif not self.quorum.is_alone:
            self._keep_promises(self._committed_offset)

    # The quorum

    def step(self, message: Response) -> None:
        """An answer of another node has arrived."""
        with self._lock:
            self.quorum.raft.step(message)
            self._turn()

    def receive(self, read: Callable[[int], Request]) -> Promise[Response]:
        """A request of another node; `read` makes it when it is given a number."""
        with self._lock:
            promise = self.quorum.receive(read)
            self._turn()
            return promise

    def forget(self, promise: Promise[Response]) -> None:
        """No request waits for this answer any more."""
        with self._lock:
            self.quorum.forget(promise)

    @contextmanager
    def looking_at_quorum(self) -> Iterator[State]:
        """Everything that Raft knows, which does not change meanwhile."""
        with self._lock:
            yield self.quorum.raft.state

    def tick(self) -> float:
        """Time has passed. Gives the millisecond of the monotonic clock at which this is due again."""
        with self._lock:
            self._turn()
            return self.quorum.raft.next_deadline_ms()

    def resign(self) -> None:
        """Let another node be the active controller, before a clean stop."""
        with self._lock:
            self.quorum.raft.resign()
            self._turn()

    def _turn(self) -> None:
        if self.quorum.turn() is not None:
            self._load()
        self._replay_committed()
        if not self.quorum.is_alone:
            self._keep_promises(self._committed_offset)
        self._take_office()
        if self.quorum.wants_snapshot:
            try:
                self.write_snapshot()
            except OSError as error:
                # The decision stands without it: the log holds everything, and the next one tries again.
                _log.warning("no snapshot of the metadata can be written: %s", error)
        self.on_news()

    def _take_office(self) -> None:
        """Become the active controller, or stop being it."""
        raft = self.quorum.raft
        if self._decided is not None and not (raft.is_leader and raft.epoch == self._office_epoch):
            _log.info("this node is no longer the active controller")
            self._decided = None
            failed, self._proposed = self._proposed, deque()
            for proposed in failed:
                proposed.promise.fail(not_controller())
        role = raft.role
        if (
            isinstance(role, Leader)
            and self._decided is None
            and self._committed_offset > role.epoch_start_offset
        ):
            if not self.quorum.is_alone:
                _log.info("this node is the active controller, in epoch %d", raft.epoch)
            self._office_epoch = raft.epoch
            self._decided = self._committed
            if self._bootstrap and self._committed == _EMPTY:
                self.quorum.propose([encode(record) for record in self._bootstrap])
                self._decided = replay(self._decided, self._bootstrap)
                self._turn()

    def write_snapshot(self) -> None:
        """Keep the image beside the log, so that the next start replays only what comes after."""
        with self._lock:
            values = [encode(record) for record in records_of(self._committed)]
            self.quorum.write_snapshot(values, self._committed_offset)

    def _load(self) -> None:
        """The image of everything that is committed: the latest snapshot, and the log behind it."""
        snapshot, values = self.quorum.snapshot()
        self._committed = replay(Image(), [decode(value) for value in values])
        self._committed_offset = snapshot.offset if snapshot is not None else 0
        self._replay_committed()
        self._take_office()

    def _replay_committed(self) -> None:
        """Each batch was one atomic step. What is replayed is what was written, never what was meant."""
        for offset, values in self.quorum.steps_from(self._committed_offset):
            if values:
                self._committed = replay(self._committed, [decode(value) for value in values])
            self._committed_offset = offset


def not_controller() -> KafkaError:
    return KafkaError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller.")
