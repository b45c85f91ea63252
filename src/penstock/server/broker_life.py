"""The life of this broker in its cluster, as its own thread leads it: it registers, beats, and says goodbye.

A node that is alone registers with itself when it is built (`server.node`) and needs no heart.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any, Final

from penstock.controller.broker_records import Endpoint
from penstock.handlers.broker import Broker
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.metadata import Node
from penstock.server.decoded_channel import DecodedChannel
from penstock.server.promise_waits import wait_for
from penstock.storage.errors import StorageError

NOT_REGISTERED: Final = -1
_REGISTRATION_VERSION: Final = 4
_HEARTBEAT_VERSION: Final = 1
_SOON_SECONDS: Final = 0.05  # until it is unfenced, and while it says goodbye
_GOODBYE_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


def registered_endpoints(endpoints: Mapping[str, Node]) -> tuple[Endpoint, ...]:
    """What a broker says of its listeners."""
    return tuple(Endpoint(name, node.host, node.port) for name, node in endpoints.items())


class BrokerLife:
    """Begins with `start` and ends with `leave`."""

    def __init__(
        self,
        broker: Broker,
        incarnation_id: bytes,
        previous_broker_epoch: int,
        open_logs: Callable[[], None],
    ) -> None:
        """`open_logs` is called once, when this node has followed the metadata up to its own registration."""
        self._broker = broker
        self._channel = DecodedChannel(broker.channel)
        self._open_logs = open_logs
        self._opened = False
        self._incarnation_id = incarnation_id
        self._previous_epoch = previous_broker_epoch
        self._began = broker.clock.monotonic()
        self._leaving = Event()
        self._over = Event()
        self.serves = Event()
        """Set once the controller has unfenced it for the first time."""
        self.failure: KafkaError | None = None
        """Why it was not registered in time; then it never will be."""
        self._thread = Thread(target=self._run, name="broker-life", daemon=True)
        self._opener = Thread(target=self._open, name="broker-opening", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """The controlled shutdown: what this broker leads is given to others first, if a controller
        listens."""
        self._leaving.set()
        if not (self.serves.is_set() and self._broker.settings.controlled_shutdown_enable):
            self._over.set()
        self._over.wait(_GOODBYE_SECONDS)
        self._over.set()
        self._thread.join()
        if self._opener.is_alive():
            self._opener.join()

    def _open(self) -> None:
        """Recovery may take its time; the heart beats meanwhile, and the broker stays fenced."""
        broker = self._broker
        while broker.controller.last_offset < broker.broker_epoch:
            if self._over.wait(_SOON_SECONDS):
                return
        try:
            self._open_logs()
            self._opened = True
        except StorageError as error:
            _log.error("this broker cannot use its data: %s", error)
            self.failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
            self.serves.set()

    def _run(self) -> None:
        while not self._over.is_set() and self.failure is None:
            try:
                pause = self._beat() if self._broker.broker_epoch != NOT_REGISTERED else self._register()
            except KafkaError as error:
                pause = self._troubled(error)
            if self._leaving.is_set():
                self._over.wait(min(pause, _SOON_SECONDS))
            else:
                self._leaving.wait(pause)

    def _register(self) -> float:
        broker, settings = self._broker, self._broker.settings
        fields = {
            "broker_id": settings.node_id,
            "cluster_id": broker.cluster_id,
            "incarnation_id": self._incarnation_id,
            "listeners": [endpoint._asdict() for endpoint in registered_endpoints(broker.endpoints)],
            "features": (),
            "rack": settings.broker_rack,
            "is_migrating_zk_broker": False,
            "log_dirs": (),
            "previous_broker_epoch": self._previous_epoch,
        }
        answer = self._ask(Api.BROKER_REGISTRATION, _REGISTRATION_VERSION, fields)
        broker.broker_epoch = answer.broker_epoch
        if not self._opened and not self._opener.is_alive():
            self._opener.start()
        _log.info("registered as broker %d with epoch %d", settings.node_id, answer.broker_epoch)
        return 0.0

    def _beat(self) -> float:
        broker = self._broker
        leaving = self._leaving.is_set()
        fields = {
            "broker_id": broker.settings.node_id,
            "broker_epoch": broker.broker_epoch,
            "current_metadata_offset": broker.controller.last_offset if self._opened else -1,
            "want_fence": False,
            "want_shut_down": leaving,
            "offline_log_dirs": (),
        }
        told = self._ask(Api.BROKER_HEARTBEAT, _HEARTBEAT_VERSION, fields)
        if leaving and told.should_shut_down:
            self._over.set()
        if not told.is_fenced:
            self.serves.set()
        soon = told.is_fenced or leaving
        return _SOON_SECONDS if soon else broker.settings.broker_heartbeat_interval_ms / 1000

    def _troubled(self, error: KafkaError) -> float:
        """Controllers change, so it goes on; but a broker that never gets in must not seem to work, and one
        that leaves does not wait for a quorum that is gone."""
        broker = self._broker
        if self._leaving.is_set():
            self._over.set()
        _log.warning("the controller does not take what this broker says: %s", error)
        if error.code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            broker.broker_epoch = NOT_REGISTERED  # it was forgotten, or forgot itself: it begins again
        waited_ms = (broker.clock.monotonic() - self._began) * 1000
        if not self.serves.is_set() and waited_ms > broker.settings.initial_broker_registration_timeout_ms:
            self.failure = error
            self.serves.set()
        return 1.0

    def _ask(self, api: Api, version: int, fields: dict[str, Any]) -> Any:
        settings = self._broker.settings
        promise = self._channel.ask(api, version, fields)
        # A heartbeat that is late is of no use to anybody; the next one says more.
        seconds = settings.broker_session_timeout_ms / 2000
        answer = wait_for(promise, seconds)
        if answer.error_code:
            code = ErrorCode(int(answer.error_code))
            raise KafkaError(code, f"{api.name}: {code.name}")
        return answer
