"""A broker as a process or inside one: real disk, real clock, real sockets, and the thread that keeps
house."""

from __future__ import annotations

import gc
import logging
import resource
import signal
import socket
import threading
from collections.abc import Callable
from random import SystemRandom
from typing import TYPE_CHECKING, Final

from penstock.clock import Clock, SystemClock
from penstock.protocol.metadata import Node as Endpoint
from penstock.records import walk
from penstock.server.cleaners import CleanerThreads
from penstock.server.connections.server import Server, bind_all, close_all
from penstock.server.following.coordinators import CoordinatorDriver
from penstock.server.node import Node
from penstock.server.together import in_threads
from penstock.settings import BrokerSettings
from penstock.settings.listeners import format_address, parse_address
from penstock.storage.disk import OsDisk
from penstock.storage.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.metrics.text import Sample
    from penstock.server.cluster.cluster_member import ClusterMember
    from penstock.server.metrics.endpoint import MetricsEndpoint

TICK_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.1
SIGNAL_SECONDS: Final = 1.0
"""How often the main thread wakes up. The system may give a signal to any thread, but Python handles it in
the main thread, and only when that runs."""
COLLECT_AFTER_OBJECTS: Final = 50_000

_log = logging.getLogger(__name__)


class RunningBroker:
    """A node that serves until `close`."""

    def __init__(self, settings: BrokerSettings, on_failure: Callable[[], None] = lambda: None) -> None:
        """`on_failure` is called when it can do nothing more; `failure` says why."""
        self._stopped = threading.Event()
        self._settings = settings
        self._on_failure = on_failure
        self._lost_disk: StorageError | None = None
        self._told_failures: set[StorageError] = set()
        clock = SystemClock()
        clients = settings.client_listeners if "broker" in settings.process_roles else ()
        self._clients = clients
        sockets = bind_all((*clients, *settings.controller_listeners), settings)
        self.addresses = {listener.name: sock.getsockname()[:2] for listener, sock in sockets}
        """Host and port of each listener, as bound."""
        told = _endpoints(settings, {listener.name: self.addresses[listener.name] for listener in clients})
        self._member = _member(settings, clock, on_failure) if settings.voters else None
        try:
            channel_to = self._member.channel_to if self._member is not None else None
            self._node = Node(
                settings, OsDisk(), clock, SystemRandom(), told, channel_to, together=in_threads
            )
        except BaseException:
            close_all(sockets)
            raise
        try:
            self._server = Server(self._node, sockets)
            self.metrics = self._metrics_endpoint(settings)
        except BaseException:
            close_all(sockets)
            raise
        broker = self._node.broker
        coordinators = broker.coordinators.values()
        self._coordinators = [CoordinatorDriver(coordinator.runtime, clock) for coordinator in coordinators]
        self._cleaners = CleanerThreads(self._node.cleaner, self._node.broker)
        self._housekeeper = threading.Thread(target=self._keep_house, name="housekeeper", daemon=True)

    def start(self) -> None:
        if walk.ACTIVE == "native":
            _log.info("records are walked by native code")
        else:
            _log.warning(
                "records are walked by Python code: validating and compacting them takes 200 times as long. "
                "Install with a C compiler to have native code"
            )
        for driver in self._coordinators:
            driver.start()
        self._node.fetchers.start()
        self._server.accept_on(self._settings.controller_listeners)
        if self._member is None:
            self._server.accept_on(self._clients)
        else:
            # Before it belongs to the cluster, a broker would tell clients that their topics are gone, or of
            # a cluster without brokers. Clients that come sooner wait in the backlog.
            self._member.start(self._node, lambda: self._server.accept_on(self._clients))
        self._cleaners.adjust()
        if self.metrics is not None:
            self.metrics.start()
        self._housekeeper.start()

    def wait_until_it_serves(self, seconds: float) -> bool:
        """Whether its cluster lets it serve within this time; one that is alone always does. KafkaError
        when it never will."""
        return self._member is None or self._member.wait_until_it_serves(seconds)

    @property
    def _is_ready(self) -> bool:
        """Whether clients are served now; one that is alone always serves."""
        return self.failure is None and (self._member is None or self._member.wait_until_it_serves(0))

    @property
    def failure(self) -> StorageError | None:
        return self._lost_disk or (None if self._member is None else self._member.failure)

    def close(self) -> None:
        """The clean shutdown: leadership given away, no more requests, then everything to disk."""
        if self._member is not None:
            self._member.leave()
        self._stopped.set()
        self._node.fetchers.close()
        self._node.peers.close()
        self._server.close()
        if self.metrics is not None:
            self.metrics.close()
        if self._member is not None:
            self._member.close()
        for driver in self._coordinators:
            driver.close()
        if self._housekeeper.is_alive():
            self._housekeeper.join()
        self._cleaners.close()
        self._node.close()

    def _metrics_endpoint(self, settings: BrokerSettings) -> MetricsEndpoint | None:
        if not settings.metrics_listener:
            return None
        from penstock.metrics.process import process_samples
        from penstock.metrics.text import Sample
        from penstock.server.metrics.endpoint import MetricsEndpoint
        from penstock.server.metrics.families import CONNECTIONS
        from penstock.server.metrics.sources import samples

        def all_samples() -> Iterator[Sample]:
            yield from samples(self._node.broker)
            yield Sample(CONNECTIONS, {}, self._server.connection_count)
            yield from process_samples()

        address = parse_address("metrics.listener", settings.metrics_listener)
        endpoint = MetricsEndpoint(*address, all_samples, lambda: self._is_ready)
        _log.info("metrics are at http://%s/metrics", format_address(*endpoint.address))
        return endpoint

    def _keep_house(self) -> None:
        while not self._stopped.wait(TICK_SECONDS):
            try:
                self._watch_disks()
                self._node.tick()
                self._cleaners.adjust()
                self._server.tick()
            except Exception:
                _log.exception("housekeeping failed; it is tried again")

    def _watch_disks(self) -> None:
        """The controller learns of a log directory that has failed, and the node goes on with the others.
        Without any of them, or without the one of the metadata, the node ends, as Kafka's does: a broker that
        stays up and serves nothing would look healthy, and other nodes can lead when it is gone."""
        failures, failure = self._node.log_failures, self._node.disabling_failure
        for offline in set(failures) - self._told_failures:
            _log.error("%s%s", offline, "" if failure else "; the other directories are served on")
            self._told_failures.add(offline)
        if failure is not None and self.failure is None:
            self._lost_disk = failure
            which = "all log directories have" if self._node.has_no_log_directory else "its metadata's has"
            _log.critical("this node ends, because %s failed: %s", which, failure)
            self._on_failure()


def _member(settings: BrokerSettings, clock: Clock, on_failure: Callable[[], None]) -> ClusterMember:
    # A node that is alone starts sooner without what it does not need.
    from penstock.server.cluster.cluster_member import ClusterMember

    return ClusterMember(settings, clock, on_failure)


def run(settings: BrokerSettings, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. `ready` gets HOST:PORT once clients may connect. KafkaError when the
    cluster does not take this broker, StorageError when its disk fails."""
    _allow_many_files()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    broker = RunningBroker(settings, stop.set)
    broker.start()
    host, port = next(iter(broker.addresses.values()))
    _collect_seldom()
    try:
        while not stop.is_set() and not broker.wait_until_it_serves(LOOK_SECONDS):
            pass
        if not stop.is_set():
            ready(f"{host}:{port}")
        while not stop.wait(SIGNAL_SECONDS):
            pass
        if broker.failure is not None:
            raise broker.failure
    finally:
        broker.close()


def _allow_many_files() -> None:
    """Each partition has a file open and each connection a socket: take what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _collect_seldom() -> None:
    """What is there now stays: the collector of cycles need not look at it again. A request leaves no cycles
    behind, so looking every few hundred objects would be a fifth of the work under load."""
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER_OBJECTS)


def _reachable(host: str) -> str:
    """A client cannot connect to "every address": it gets this machine's name instead, as from Kafka."""
    return socket.getfqdn() if host in ("", "0.0.0.0", "::") else host


def _endpoints(settings: BrokerSettings, bound: dict[str, tuple[str, int]]) -> dict[str, Endpoint]:
    """The addresses for clients: the advertised one of each listener, or the one it is bound to."""
    advertised = {listener.name: listener for listener in settings.advertised_listeners}
    endpoints = {}
    for name, (host, port) in bound.items():
        told = advertised.get(name)
        endpoints[name] = Endpoint(
            settings.node_id,
            told.host if told else _reachable(host),
            (told.port or port) if told else port,
            settings.broker_rack,
        )
    return endpoints
