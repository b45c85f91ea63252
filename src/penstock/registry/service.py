"""The registry behind its routes: questions are asked of the state as it is, changes go through the topic.

Called by `routes`. It owns the replayed topic `_schemas` and the one thread that writes to it.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from penstock.client.errors import ClientError, NotReadBack, RecordTooLarge
from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import ReplayedTopic
from penstock.clock import SystemClock
from penstock.registry import records
from penstock.registry.decisions import Decision
from penstock.registry.errors import store_failed, timed_out, too_large
from penstock.registry.export_runner import ExportRunner
from penstock.registry.rights import SubjectRights
from penstock.registry.settings import RegistrySettings
from penstock.registry.state import State
from penstock.registry.topic import SchemasTopic

LONG_TEXT: Final = 20_000
"""Schemas of this many characters are parsed beside the event loop."""

TOGETHER: Final = 100
"""How many changes are written together at most."""

Told = TypeVar("Told")
Change = tuple[Callable[[State], Decision], "asyncio.Future[Any]"]


class Registry:
    def __init__(self, settings: RegistrySettings, on_failure: Callable[[str], None] | None = None) -> None:
        topic = ReplayedTopicSettings(
            settings.bootstrap_servers,
            settings.topic,
            settings.replication_factor,
            settings.timeout_s,
            settings.init_timeout_s,
            client=settings.client,
        )
        state = State(settings.default_level)
        self._topic: SchemasTopic = ReplayedTopic(topic, records, state, on_failure)
        self._writer = ThreadPoolExecutor(1, "registry-writer")
        self._changes: deque[Change] = deque()
        """Changes that wait for the writer, which writes all that have come meanwhile at once."""
        self._writes = False
        """Whether the writer is at work, and will look for changes again before it rests."""
        self._changing = threading.Lock()
        """Guards both; never held while something blocks."""
        self._exporters: ExportRunner | None = None
        self._at_end: list[Callable[[], None]] = []
        self.rights = SubjectRights(self.ask)
        """What callers may do; everything, until `main` says otherwise."""

    def start(self) -> None:
        """Returns when everything that was written before is replayed."""
        self._topic.start()

    def start_exporters(self, cluster_id: str) -> None:
        """Copies schemas to other registries from now on. The cluster's id names this registry there."""
        self._exporters = ExportRunner(self._topic, cluster_id, uuid.uuid4().hex, SystemClock())
        self._exporters.start()

    def ask(self, question: Callable[[State], Told]) -> Told:
        return question(self._topic.view.state)

    async def ask_at_length(self, question: Callable[[State], Told], size: int) -> Told:
        """The same for a question that parses a schema of that many characters."""
        if size < LONG_TEXT:
            return self.ask(question)
        return await asyncio.to_thread(self.ask, question)

    async def catch_up(self) -> bool:
        """Read what other registries have written until now. False where nothing was new, or where the broker
        does not say."""
        try:
            return await asyncio.to_thread(self._topic.catch_up)
        except ClientError:
            return False

    async def change(self, decide: Callable[[State], Decision]) -> Any:
        """The answer of the decision, when its records have been read back."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        with self._changing:
            self._changes.append((decide, answer))
            begins, self._writes = not self._writes, True
        if begins:
            loop.run_in_executor(self._writer, self._write, loop)
        return await answer

    def closed_with_it(self, close: Callable[[], None]) -> None:
        """`close` is called when the registry is closed."""
        self._at_end.append(close)

    def close(self) -> None:
        if self._exporters is not None:
            self._exporters.stop()
        for close in self._at_end:
            close()
        self._writer.shutdown()
        self._topic.close()

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the writer's thread, until nothing waits."""
        while True:
            with self._changing:
                taken = [self._changes.popleft() for _ in range(min(len(self._changes), TOGETHER))]
                self._writes = bool(taken)
            if not taken:
                return
            answers = self._answers([decide for decide, _ in taken])
            with suppress(RuntimeError):  # the loop may have been closed meanwhile
                loop.call_soon_threadsafe(_hand_over, taken, answers)

    def _answers(self, decides: list[Callable[[State], Decision]]) -> list[Any]:
        try:
            if len(decides) == 1:
                return [self._topic.change(decides[0])]
            return list(map(_translated, self._topic.change_all(decides)))
        except Exception as error:
            return [_translated(error)] * len(decides)


def _hand_over(taken: list[Change], answers: list[Any]) -> None:
    for (_, waiting), answer in zip(taken, answers, strict=True):
        if waiting.done():  # its client is gone
            continue
        if isinstance(answer, Exception):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)


def _translated(answer: Any) -> Any:
    """Errors of the topic as those of the registry."""
    match answer:
        case RecordTooLarge():
            return too_large(answer.size_bytes, answer.size_max)
        case NotReadBack():
            return timed_out(str(answer))
        case ClientError():
            return store_failed(str(answer))
        case _:
            return answer
