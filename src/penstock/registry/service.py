"""One request: asked of the state, or decided, appended, read back and answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from penstock.registry.decisions import Decision
from penstock.registry.errors import store_failed
from penstock.registry.state import State
from penstock.registry.store import Store

ATTEMPTS: Final = 20
"""How often a write is decided anew because another registry wrote first."""
LONG_TEXT: Final = 20_000
"""A schema from which on it is parsed beside the event loop."""

Told = TypeVar("Told")


class Registry:
    """Writes go one after the other through one thread; questions are answered where they are asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer = ThreadPoolExecutor(1, "registry-writer")

    def ask(self, question: Callable[[State], Told]) -> Told:
        with self._store.lock:
            return question(self._store.state)

    async def ask_at_length(self, question: Callable[[State], Told], size: int) -> Told:
        """The same for a question that parses a schema of that many characters."""
        if size < LONG_TEXT:
            return self.ask(question)
        return await asyncio.to_thread(self.ask, question)

    async def change(self, decide: Callable[[State], Decision]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._change, decide)

    def close(self) -> None:
        self._writer.shutdown()

    def _change(self, decide: Callable[[State], Decision]) -> Any:
        for _ in range(ATTEMPTS):
            with self._store.lock:
                decision = decide(self._store.state)
                known_offset = self._store.known_offset
            if not decision.records or self._store.append(decision.records, known_offset):
                return decision.answer
        raise store_failed(f"other registries wrote first, {ATTEMPTS} times. Try again")
