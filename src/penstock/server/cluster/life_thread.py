"""The threads that lead a broker's life: one is its heart, one opens the logs, which may take long."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from penstock.handlers.broker import Broker
from penstock.protocol.errors import KafkaError
from penstock.server.cluster.broker_life import SOON_SECONDS, BrokerLife
from penstock.server.cluster.decoded_channel import DecodedChannel
from penstock.server.cluster.promise_waits import wait_for

_GOODBYE_SECONDS: Final = 30.0
_TROUBLED_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)

Heard = Callable[[float], frozenset[int]]
"""The other voters that have answered within so many seconds."""


class LifeThread:
    """Begins with `start` and ends with `leave`."""

    def __init__(
        self, life: BrokerLife, broker: Broker, on_serving: Callable[[], None], heard: Heard
    ) -> None:
        """`on_serving` is called once, when clients may come."""
        self._heard = heard
        self._told_heard: frozenset[int] | None = None
        self._life = life
        self._on_serving = on_serving
        self._broker = broker
        self._channel = DecodedChannel(broker.channel)
        self._leaving = False
        self._news = Event()
        self._over = Event()
        self.serves = Event()
        """Set once the controller has unfenced it for the first time, or when it never will."""
        self._heart = Thread(target=self._beat, name="broker-life", daemon=True)
        self._opener = Thread(target=self._open, name="broker-opening", daemon=True)

    @property
    def failure(self) -> KafkaError | None:
        return self._life.failure

    def start(self) -> None:
        self._heart.start()
        self._opener.start()

    def wake(self) -> None:
        """There is something to say before the next beat is due."""
        self._news.set()

    def leave(self) -> None:
        """The controlled shutdown: what this broker leads is given to others first, if a controller
        listens."""
        self._life.leaving = True
        self._leaving = True
        self.wake()
        if not (self.serves.is_set() and self._broker.settings.controlled_shutdown_enable):
            self._over.set()
        self._over.wait(_GOODBYE_SECONDS)
        self._over.set()
        self._heart.join()
        self._opener.join()

    def _open(self) -> None:
        while not self._life.may_open:
            if self._over.wait(SOON_SECONDS):
                return
        self._life.open()

    def _beat(self) -> None:
        life = self._life
        while not self._over.is_set():
            served, pause = life.serves, self._exchange()
            if life.serves and not served:
                self._on_serving()
            if life.serves or life.failure is not None:
                self.serves.set()
            if life.is_over or life.failure is not None:
                self._over.set()
            elif self._leaving:
                self._over.wait(min(pause, SOON_SECONDS))
            else:
                self._news.wait(pause)
                self._news.clear()

    def _exchange(self) -> float:
        said = self._life.next_request()
        try:
            answer = wait_for(self._channel.ask(*said), self._life.patience_seconds)
            self._told_heard = None
            return self._life.answered(said, answer)
        except KafkaError as error:
            pause = self._life.failed(error)
            self._tell_of_quorum()
            return pause
        except Exception:
            # A broker without a heart is fenced and never knows why: whatever it was, the next beat may do.
            _log.exception("the controller could not be spoken to; it is tried again")
            return _TROUBLED_SECONDS

    def _tell_of_quorum(self) -> None:
        """Without a majority nothing gets better until voters come back: say how many are missing."""
        settings = self._broker.settings
        voters, own = frozenset(settings.voters), frozenset({settings.node_id})
        heard = (self._heard(settings.controller_quorum_fetch_timeout_ms / 500) | own) & voters
        needed = len(voters) // 2 + 1
        if len(heard) >= needed or heard == self._told_heard:
            return
        self._told_heard = heard
        _log.warning(
            "there is no majority of voters: this node hears %d of %d (%s), a controller needs %d",
            len(heard),
            len(voters),
            ", ".join(map(str, sorted(heard))) or "none",
            needed,
        )
