"""The registry behind its routes: questions are asked of the state as it is, changes go through the topic.

Called by `routes`. It owns the replayed topic `_schemas` and the one thread that writes to it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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

Told = TypeVar("Told")


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
        self._exporters: ExportRunner | None = None
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

    async def change(self, decide: Callable[[State], Decision]) -> Any:
        """The answer of the decision, when its records have been read back."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._change, decide)

    def close(self) -> None:
        if self._exporters is not None:
            self._exporters.stop()
        self._writer.shutdown()
        self._topic.close()

    def _change(self, decide: Callable[[State], Decision]) -> Any:
        try:
            return self._topic.change(decide)
        except RecordTooLarge as error:
            raise too_large(error.size_bytes, error.size_max) from error
        except NotReadBack as error:
            raise timed_out(str(error)) from error
        except ClientError as error:
            raise store_failed(str(error)) from error
