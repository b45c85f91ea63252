"""Messages that an MQTT broker has sent and that are not in a topic yet. The thread of the MQTT client adds
them, and that of the connector takes them.

A message is confirmed to the broker when it is in its topic for good. A broker that has kept the session
sends what was not confirmed again, with the same id. One that has lost it sends nothing again, and gives the
ids to other messages.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 2_000
BYTES_AT_ONCE: Final = 8 << 20
WAITING_MAX: Final = 100_000
"""More messages that nobody waits for (quality of service 0) are dropped. Of others the broker sends only so
many before it waits."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    number: int  # of this inbox
    session: int  # of the broker; an id means a message within one session only
    mid: int
    qos: int
    retained: bool
    duplicate: bool
    topic: str
    payload: bytes


class Inbox:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Message] = []
        self._handed = 0  # as many of the first ones belong to a batch
        self._number = 0
        self._session = 0
        self._dropped = 0

    def add(self, mid: int, qos: int, retained: bool, duplicate: bool, topic: str, payload: bytes) -> None:
        with self._lock:
            sent = (self._session, mid, topic, payload)
            if duplicate and any(
                (each.session, each.mid, each.topic, each.payload) == sent for each in self._waiting
            ):
                return
            if qos == 0 and len(self._waiting) >= WAITING_MAX:
                if not self._dropped:
                    log.warning("more than %d messages wait: others are dropped (mqtt.qos 0)", WAITING_MAX)
                self._dropped += 1
                return
            self._number += 1
            made = Message(self._number, self._session, mid, qos, retained, duplicate, topic, payload)
            self._waiting.append(made)

    def connected(self, *, session_present: bool) -> None:
        """What no batch has will be sent again, unless nobody confirms it or the session is another one."""
        with self._lock:
            if not session_present:
                self._session += 1
                return
            kept, others = self._waiting[: self._handed], self._waiting[self._handed :]
            self._waiting = kept + [each for each in others if each.qos == 0]

    def __len__(self) -> int:
        return len(self._waiting)

    def handed(self) -> list[Message]:
        """The messages of the next batch; the same ones until they are done."""
        with self._lock:
            if not self._handed:
                size = 0
                for each in self._waiting[:AT_ONCE]:
                    size += len(each.payload)
                    if self._handed and size > BYTES_AT_ONCE:
                        break
                    self._handed += 1
            return self._waiting[: self._handed]

    def done(self, number: int, confirm: Callable[[Message], object]) -> None:
        """Messages up to a number are in their topic."""
        with self._lock:
            count = sum(each.number <= number for each in self._waiting[: self._handed])
            finished, self._waiting = self._waiting[:count], self._waiting[count:]
            self._handed -= count
            session = self._session
        for each in finished:
            if each.qos and each.session == session:
                confirm(each)
