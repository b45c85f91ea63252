"""`Alerts`: rules, silences and history as pages and API use them, and the step after each look."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from penstock.client.errors import ClientError, InvalidValue
from penstock.console.alert_engine import AlertEngine, Event, Silence
from penstock.console.alert_rules import Observations, Rule, checked
from penstock.console.alert_store import EVENTS_MAX, Change, Store, read, stored
from penstock.console.notifying import Notifier
from penstock.web.threads import Threads

log = logging.getLogger(__name__)


class Alerts:
    def __init__(self, store: Store, notifier: Notifier) -> None:
        self._store = store
        self._notifier = notifier
        self._threads = Threads(2, "console-alerts")
        self._engine: AlertEngine | None = None
        self._starting = asyncio.Lock()
        self.error: ClientError | None = None
        """Why rules cannot be kept now."""

    @property
    def rules(self) -> list[Rule]:
        return read(self._store.values, "rule")

    @property
    def silences(self) -> list[Silence]:
        return [each for each in read(self._store.values, "silence") if each.until > time.time()]

    @property
    def events(self) -> list[Event]:
        """Newest first."""
        return sorted(read(self._store.values, "event"), key=lambda event: -event.fired_at)

    @property
    def firing(self) -> list[Event]:
        return [event for event in self.events if event.cleared_at is None]

    async def save(self, rule: Rule) -> None:
        await self._write([stored("rule", rule.name, checked(rule))])

    async def delete(self, name: str) -> None:
        if name not in {rule.name for rule in self.rules}:
            raise InvalidValue(f"There is no rule named {name!r}.")
        await self._write([stored("rule", name, None), stored("silence", name, None)])

    async def silence(self, rule: str, minutes: float, reason: str = "") -> None:
        """For no minutes: nobody is silent any more."""
        value = Silence(rule, time.time() + 60 * minutes, reason) if minutes > 0 else None
        await self._write([stored("silence", rule, value)])

    async def step(self, seen: Observations, now: float) -> list[Event]:
        """Judge all rules, keep what changed, and tell people."""
        engine = await self._started()
        rules = {rule.name: rule for rule in self.rules}
        silences = {each.rule: each for each in self.silences}
        changed = engine.step(rules.values(), silences, seen, now)
        if changed:
            await self._write([*(stored("event", each.key, each) for each in changed), *self._too_old()])
            await asyncio.gather(*(self._tell(rules.get(each.rule), silences, each) for each in changed))
        return changed

    async def start(self) -> None:
        """Reads what is kept; called again after a failure."""
        await self._started()

    async def close(self) -> None:
        await self._threads.call(self._store.close)

    async def _tell(self, rule: Rule | None, silences: dict[str, Silence], event: Event) -> None:
        if rule is None or rule.name in silences or event.silenced:
            return
        for channel in rule.channels:
            await self._notifier.tell(channel, event)

    def _too_old(self) -> list[Change]:
        done = [event for event in self.events if event.cleared_at is not None]
        return [stored("event", event.key, None) for event in done[EVENTS_MAX:]]

    async def _started(self) -> AlertEngine:
        async with self._starting:
            if self._engine is None:
                try:
                    await self._threads.call(self._store.start)
                except ClientError as error:
                    self.error = error
                    raise
                self.error = None
                self._engine = AlertEngine({(e.rule, e.subject): e for e in self.firing})
        return self._engine

    async def _write(self, changes: list[Any]) -> None:
        await self._started()
        await self._threads.call(self._store.write, changes)
