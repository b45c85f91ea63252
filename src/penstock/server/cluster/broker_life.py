"""The life of this broker in its cluster: it registers, opens its logs, says where they are, beats, and says
goodbye.

What is said and what the answers mean stands here, without a thread: `server.cluster.life_thread` leads
this life, and so does the simulator. A node that is alone registers with itself when it is built
(`server.node`) and needs no heart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from penstock.controller.broker_records import Endpoint
from penstock.handlers.broker import Broker
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.metadata import Node
from penstock.server.cluster.replica_directories import ReplicaDirectories, Untold, by_directory
from penstock.settings import BrokerSettings
from penstock.settings.listeners import PROTOCOLS
from penstock.storage.errors import StorageError

NOT_REGISTERED: Final = -1
SOON_SECONDS: Final = 0.05  # until it is unfenced, and while it says goodbye
_TROUBLED_SECONDS: Final = 1.0
_REGISTRATION_VERSION: Final = 4
_HEARTBEAT_VERSION: Final = 1
_ASSIGNMENT_VERSION: Final = 0
_UNANSWERED: Final = frozenset(
    {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_CONTROLLER}
)

_log = logging.getLogger(__name__)


def registered_endpoints(endpoints: Mapping[str, Node], settings: BrokerSettings) -> tuple[Endpoint, ...]:
    """What a broker says of its listeners."""
    codes = {one.name: PROTOCOLS.index(one.security_protocol) for one in settings.client_listeners}
    return tuple(Endpoint(name, node.host, node.port, codes.get(name, 0)) for name, node in endpoints.items())


class Said(NamedTuple):
    """A request to the controller."""

    api: Api
    version: int
    fields: dict[str, Any]


class BrokerLife:
    """The caller sends `next_request`, hands the answer to `answered` or the error to `failed`, and pauses
    for as many seconds as these return. It calls `open` when `may_open`."""

    def __init__(
        self,
        broker: Broker,
        incarnation_id: bytes,
        previous_broker_epoch: int,
        directories: ReplicaDirectories,
        open_logs: Callable[[], None],
    ) -> None:
        """`open_logs` is called once, when this node has followed the metadata up to its own registration."""
        self._broker = broker
        self._open_logs = open_logs
        self._opened = False
        self._incarnation_id = incarnation_id
        self._previous_epoch = previous_broker_epoch
        self._directories = directories
        self._told_code: ErrorCode | None = None  # of the last failure, until something succeeds
        self._told_last = False  # where replicas are; a heartbeat comes between
        self._began = broker.clock.monotonic()
        self.leaving = False
        """Set from outside: from now on this broker wants to stop, and its partitions are given to others
        first."""
        self.serves = False
        """Whether the controller has ever unfenced it, and this node has followed the metadata up to there:
        before, it would tell clients of a cluster to which it does not belong itself."""
        self.is_over = False
        """Whether the controller lets it go, or no controller can be asked."""
        self.failure: KafkaError | None = None
        """Why it was not registered in time, or has no logs; then it never serves."""

    @property
    def patience_seconds(self) -> float:
        """A heartbeat that is late is of no use to anybody; the next one says more."""
        return self._broker.settings.broker_session_timeout_ms / 2000

    # The logs

    @property
    def may_open(self) -> bool:
        broker = self._broker
        return not self._opened and NOT_REGISTERED < broker.broker_epoch <= broker.controller.last_offset

    def open(self) -> None:
        """Recovery may take its time; the heart beats meanwhile, and the broker stays fenced."""
        try:
            self._open_logs()
            self._opened = True
        except StorageError as error:
            _log.error("this broker cannot use its data: %s", error)
            self.failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    # The heart

    def next_request(self) -> Said:
        if self._broker.broker_epoch == NOT_REGISTERED:
            return self._registration()
        untold = self._directories.untold() if self._opened and not self._told_last else ()
        self._told_last = bool(untold)
        return self._assignment(untold) if untold else self._heartbeat()

    def answered(self, said: Said, answer: Any) -> float:
        """The answer to `said`; gives the seconds until the next request."""
        if not answer.error_code:
            self._told_code = None
        if answer.error_code:
            code = ErrorCode(int(answer.error_code))
            return self.failed(KafkaError(code, f"{said.api.name}: {code.name}"))
        if said.api is Api.BROKER_REGISTRATION:
            return self._registered(answer.broker_epoch)
        if said.api is Api.ASSIGN_REPLICAS_TO_DIRS:
            return SOON_SECONDS
        return self._beaten(answer, asked_to_leave=said.fields["want_shut_down"])

    def failed(self, error: KafkaError) -> float:
        """Controllers change, so it goes on; but a broker that never gets in must not seem to work, and one
        that leaves does not wait for a quorum that is gone."""
        broker = self._broker
        self.is_over |= self.leaving
        self._tell(error)
        if error.code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            broker.broker_epoch = NOT_REGISTERED  # it was forgotten, or forgot itself: it begins again
        waited_ms = (broker.clock.monotonic() - self._began) * 1000
        if not self.serves and waited_ms > broker.settings.initial_broker_registration_timeout_ms:
            self.failure = error
        return _TROUBLED_SECONDS

    def _tell(self, error: KafkaError) -> None:
        """Log a failure, once for as long as it stays the same."""
        if error.code is self._told_code:
            return
        self._told_code = error.code
        if error.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            _log.info(
                "this broker was not stopped in order: its last session is still open. It registers again "
                "when that ends, which takes %.1f s at most (broker.session.timeout.ms)",
                self._broker.settings.broker_session_timeout_ms / 1000,
            )
        elif error.code in _UNANSWERED:
            _log.warning("no controller answers this broker, it is tried again: %s", error)
        else:
            _log.warning("the controller does not take what this broker says: %s", error)

    def _registration(self) -> Said:
        broker, settings = self._broker, self._broker.settings
        fields = {
            "broker_id": settings.node_id,
            "cluster_id": broker.cluster_id,
            "incarnation_id": self._incarnation_id,
            "listeners": [
                endpoint._asdict() for endpoint in registered_endpoints(broker.endpoints, broker.settings)
            ],
            "features": (),
            "rack": settings.broker_rack,
            "is_migrating_zk_broker": False,
            "log_dirs": self._directories.online,
            "previous_broker_epoch": self._previous_epoch,
        }
        return Said(Api.BROKER_REGISTRATION, _REGISTRATION_VERSION, fields)

    def _registered(self, broker_epoch: int) -> float:
        self._broker.broker_epoch = broker_epoch
        _log.info("registered as broker %d with epoch %d", self._broker.settings.node_id, broker_epoch)
        return 0.0

    def _heartbeat(self) -> Said:
        broker = self._broker
        fields = {
            "broker_id": broker.settings.node_id,
            "broker_epoch": broker.broker_epoch,
            "current_metadata_offset": broker.controller.last_offset if self._opened else -1,
            "want_fence": False,
            "want_shut_down": self.leaving,
            "offline_log_dirs": self._directories.offline,
        }
        return Said(Api.BROKER_HEARTBEAT, _HEARTBEAT_VERSION, fields)

    def _assignment(self, untold: Sequence[Untold]) -> Said:
        broker = self._broker
        fields = {
            "broker_id": broker.settings.node_id,
            "broker_epoch": broker.broker_epoch,
            "directories": by_directory(untold),
        }
        return Said(Api.ASSIGN_REPLICAS_TO_DIRS, _ASSIGNMENT_VERSION, fields)

    def _is_known_to_serve(self) -> bool:
        state = self._broker.controller.image.brokers.get(self._broker.settings.node_id)
        return state is not None and not state.fenced and state.broker_epoch == self._broker.broker_epoch

    def _beaten(self, told: Any, *, asked_to_leave: bool) -> float:
        self.is_over |= asked_to_leave and told.should_shut_down
        self.serves |= not told.is_fenced and self._is_known_to_serve()
        soon = told.is_fenced or not self.serves or self.leaving
        return SOON_SECONDS if soon else self._broker.settings.broker_heartbeat_interval_ms / 1000
