"""Which log is compacted next, and what becomes of one that cannot be: the broker's cleaner.

`LogCleaner.clean_next` compacts the dirtiest log that is worth it, one round of it; threads of
`penstock.server` call it again and again, several at once if so set. A log that turns out to be damaged is
left alone from then on and told; the others are compacted as ever. How a round is done is the business of
`penstock.storage.compaction`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from penstock.clock import Clock
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.keys import SECRET_BYTES, SLOT_BYTES
from penstock.settings import BrokerSettings
from penstock.storage.cleanable import Cleanable, look, worth_it
from penstock.storage.compaction import Aborted, Compaction, Resources
from penstock.storage.disk import is_full
from penstock.storage.errors import Corruption, LogDirFailure
from penstock.storage.log import Log
from penstock.storage.logs import Logs
from penstock.storage.throttle import Throttle

_log = logging.getLogger(__name__)


class _Chosen(NamedTuple):
    name: TopicPartition
    log: Log
    cleanable: Cleanable


class LogCleaner:
    """Compacts the logs of a broker. Threads may call it."""

    def __init__(
        self, logs: Logs, clock: Clock, random: Random, settings: Callable[[], BrokerSettings]
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._random = random
        self._settings = settings
        self._lock = threading.Lock()
        self._in_progress: set[TopicPartition] = set()
        # Why, by log. The same name may come back as another log: that one is compacted.
        self._uncleanable: dict[Log, str] = {}
        self._stopping = False

    def uncleanable(self) -> dict[str, str]:
        """The paths of the logs that are left alone, and why."""
        with self._lock:
            return {log.path: reason for log, reason in self._uncleanable.items()}

    def stop(self) -> None:
        """Whatever is in progress ends soon, without harm."""
        self._stopping = True

    def clean_next(self, pause: Callable[[float], object]) -> bool:
        """One round of the log that needs it most; False when none does. `pause` waits that many seconds."""
        chosen = self._choose()
        if chosen is None:
            return False
        try:
            return self._clean(chosen, pause)
        finally:
            with self._lock:
                self._in_progress.discard(chosen.name)

    def _choose(self) -> _Chosen | None:
        settings = self._settings()
        if self._stopping or not settings.log_cleaner_enable:
            return None
        now_ms = self._clock.now_ms()
        logs = self._logs.all()
        with self._lock:
            present = set(logs.values())
            self._uncleanable = {log: why for log, why in self._uncleanable.items() if log in present}
            candidates = [
                _Chosen(name, log, cleanable)
                for name, log in logs.items()
                if name not in self._in_progress
                and log not in self._uncleanable
                and (cleanable := self._look(name, log, now_ms)) is not None
            ]
            if not candidates:
                return None
            chosen = max(candidates, key=lambda candidate: candidate.cleanable.ratio)
            self._in_progress.add(chosen.name)
            return chosen

    def _look(self, name: TopicPartition, log: Log, now_ms: int) -> Cleanable | None:
        if "compact" not in log.settings.cleanup_policy or log.directory.failure is not None:
            return None
        try:
            with log.lock:
                cleanable = look(log, log.directory.cleaned.get(name), now_ms)
        except Corruption as error:
            self._give_up(log, str(error))
            return None
        except OSError as error:
            _log.error("%s", log.directory.fail(error))
            return None
        return cleanable if worth_it(cleanable, log) else None

    def _clean(self, chosen: _Chosen, pause: Callable[[float], object]) -> bool:
        name, log, cleanable = chosen
        started = self._clock.monotonic()
        cleaned = log.directory.cleaned
        try:
            # Before the first gap: a start would take it for damage.
            cleaned.add(name)
            done = Compaction(log, cleanable, self._resources(pause), self._clock.now_ms()).run()
            cleaned.put(name, done.cleaned_to)
        except Corruption as error:
            with self._lock:
                self._give_up(log, str(error))
            return True
        except Aborted as error:
            _log.info("compaction of %s ends early: %s", log.path, error)
            return False
        except LogDirFailure as error:
            _log.error("%s", error)
            return False
        except OSError as error:
            self._refused(log, error)
            return False
        _log.info(
            "%s is compacted to offset %d: %d bytes became %d in %.2f s",
            *(log.path, done.cleaned_to, done.bytes_before, done.bytes_after),
            self._clock.monotonic() - started,
        )
        return True

    def _resources(self, pause: Callable[[float], object]) -> Resources:
        settings = self._settings()
        throttle = Throttle(self._clock, pause, lambda: self._settings().log_cleaner_io_max_bytes_per_second)

        def step(size_bytes: int) -> None:
            throttle.spend(size_bytes)
            if self._stopping:
                raise Aborted("the broker stops")

        buffer_bytes = settings.log_cleaner_dedupe_buffer_size // max(1, settings.log_cleaner_threads)
        return Resources(buffer_bytes // SLOT_BYTES, self._random.randbytes(SECRET_BYTES), step)

    def _refused(self, log: Log, error: OSError) -> None:
        """The disk said no. A full one is waited out; a log that was deleted meanwhile is no harm."""
        with log.lock:
            gone = log.gone or isinstance(error, FileNotFoundError)
        if gone:
            _log.info("compaction of %s ends early: %s", log.path, error)
        elif is_full(error):
            _log.warning("compaction of %s waits for space: %s", log.path, error)
        else:
            _log.error("%s", log.directory.fail(error))

    def _give_up(self, log: Log, reason: str) -> None:
        _log.error("%s cannot be compacted and is left alone: %s", log.path, reason)
        self._uncleanable[log] = reason
