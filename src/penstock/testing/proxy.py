"""A proxy between clients and brokers that understands Kafka's frames and can hold, delay, drop or exchange
single ones.

`with Proxy(broker.bootstrap_servers) as proxy:` gives `proxy.bootstrap_servers` for any client. Brokers that
an answer names get an address of the proxy as well, so a client stays on it whatever it learns. Threads and
blocking sockets; rules are in `proxy_rules`.
"""

from __future__ import annotations

import itertools
import logging
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from penstock.protocol.apis import Api
from penstock.testing.proxy_addresses import Address, with_addresses
from penstock.testing.proxy_frames import Frame, Way
from penstock.testing.proxy_links import Link
from penstock.testing.proxy_rules import Alter, Change, Cut, Drop, Hold, Line, Rule, Swap, Where

CONNECT_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 10.0
MOST_LINKS: Final = 1000
HOST: Final = "127.0.0.1"

_log = logging.getLogger(__name__)
_R = TypeVar("_R", bound=Rule)


def _any(_: Frame) -> bool:
    return True


class Proxy:
    """Rules are asked in the order in which they were made; the first that takes a frame acts on it. Watches
    see every frame before that."""

    def __init__(self, servers: str) -> None:
        self._upstream = [_address(text) for text in servers.split(",")]
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._watches: list[Rule] = []
        self._addresses: dict[Address, Address] = {}
        self._listeners: list[socket.socket] = []
        self._links: dict[int, Link] = {}
        self._numbers = itertools.count(1)
        self._no_links = threading.Condition(self._lock)
        self._closing = False

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect instead."""
        return ",".join(f"{host}:{port}" for host, port in map(self._address_of, self._upstream))

    # What happens to frames; `nth` counts the frames that match, from 1

    def hold(
        self,
        api: Api,
        way: Way,
        *,
        nth: int = 1,
        times: int | None = 1,
        where: Where = _any,
        stall: bool = False,
    ) -> Hold:
        """Keep frames until `release`; those behind overtake them, or wait too if the line is to `stall`."""
        return self._add(Hold(api, way, nth, times, where, stall=stall))

    def delay(
        self,
        api: Api,
        way: Way,
        seconds: float,
        *,
        nth: int = 1,
        times: int | None = 1,
        where: Where = _any,
        stall: bool = False,
    ) -> Hold:
        """Keep frames for a time."""
        return self._add(Hold(api, way, nth, times, where, stall=stall, seconds=seconds))

    def drop(self, api: Api, way: Way, *, nth: int = 1, times: int | None = 1, where: Where = _any) -> Drop:
        """Lose frames on a connection that stays."""
        return self._add(Drop(api, way, nth, times, where))

    def swap(self, api: Api, way: Way, *, nth: int = 1, where: Where = _any) -> Swap:
        """Let the frame and the next that matches change places."""
        return self._add(Swap(api, way, nth, where))

    def change(
        self, api: Api, alter: Alter, *, nth: int = 1, times: int | None = 1, where: Where = _any
    ) -> Change:
        """Let answers come with fields that `alter` has changed in place."""
        return self._add(Change(api, nth, times, where, alter))

    def cut(self, api: Api, way: Way, *, nth: int = 1, times: int | None = 1, where: Where = _any) -> Cut:
        """Close the connection in place of passing the frame on."""
        return self._add(Cut(api, way, nth, times, where))

    def watch(self, api: Api | None = None, way: Way | None = None, *, where: Where = _any) -> Rule:
        """Remember frames, which pass or not as rules say."""
        watch = Rule(api, way, 1, None, where)
        with self._lock:
            self._watches.append(watch)
        return watch

    def cut_all(self) -> None:
        """Close every connection; clients may connect again."""
        with self._lock:
            links = list(self._links.values())
        for link in links:
            link.close()

    # Life

    def start(self) -> Self:
        for address in self._upstream:
            self._address_of(address)
        return self

    def close(self) -> None:
        """Let go of what is held, close everything, and wait for the threads."""
        with self._lock:
            self._closing = True
            rules, listeners = list(self._rules), list(self._listeners)
        for listener in listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
            listener.close()
        self.cut_all()
        for rule in rules:
            rule.release()
        with self._no_links:
            if not self._no_links.wait_for(lambda: not self._links, CLOSE_SECONDS):
                _log.error("%d connections of the proxy did not end", len(self._links))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, rule: _R) -> _R:
        with self._lock:
            self._rules.append(rule)
        return rule

    def _handle(self, frame: Frame, line: Line) -> None:
        with self._lock:
            watches, rules = list(self._watches), list(self._rules)
        for watch in watches:
            watch.takes(frame)
        if frame.way is Way.TO_CLIENT:
            frame = with_addresses(frame, self._address_of)
        for rule in rules:
            if rule.takes(frame):
                _log.debug("%s: %s", type(rule).__name__, frame)
                rule.act(frame, line)
                return
        line.send(frame)

    def _address_of(self, broker: Address) -> Address:
        """Where the proxy listens for a broker; from now on, if it is new."""
        with self._lock:
            known = self._addresses.get(broker)
            if known is None and not self._closing:
                listener = socket.create_server((HOST, 0))
                known = self._addresses[broker] = (HOST, int(listener.getsockname()[1]))
                self._listeners.append(listener)
                accept = threading.Thread(
                    target=self._accept, args=(listener, broker), name=f"proxy of {broker}", daemon=True
                )
                accept.start()
            return known or broker

    def _accept(self, listener: socket.socket, broker: Address) -> None:
        while not self._closing:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # closed
            self._connect(client, broker)

    def _connect(self, client: socket.socket, broker: Address) -> None:
        """A client whose broker does not answer sees its connection closed, as it would without a proxy."""
        try:
            upstream = socket.create_connection(broker, CONNECT_SECONDS)
        except OSError as error:
            _log.debug("no broker at %s: %s", broker, error)
            client.close()
            return
        upstream.settimeout(None)
        number = next(self._numbers)
        with self._lock:
            refused = self._closing or len(self._links) >= MOST_LINKS
            if not refused:
                link = Link(number, client, upstream, self._handle, lambda: self._ended(number))
                self._links[number] = link
        if refused:
            client.close()
            upstream.close()
        else:
            link.start()

    def _ended(self, number: int) -> None:
        with self._no_links:
            self._links.pop(number, None)
            self._no_links.notify_all()


def _address(text: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    return host.strip("[]"), int(port)
