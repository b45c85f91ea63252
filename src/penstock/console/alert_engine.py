"""`AlertEngine`: which alerts fire and which have cleared, from one look to the next. Pure but for the clock
that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from penstock.console.alert_rules import Observations, Rule, violations


class Silence(msgspec.Struct, frozen=True):
    """Nobody is told of alerts of a rule until then; they still stand in the history."""

    rule: str
    until: float
    reason: str = ""


class Event(msgspec.Struct, frozen=True):
    """An alert from when it fired until it cleared."""

    rule: str
    subject: str
    sentence: str
    fired_at: float
    cleared_at: float | None = None
    silenced: bool = False

    @property
    def key(self) -> str:
        return f"{self.rule}/{self.subject}/{self.fired_at:.3f}"


@dataclass(slots=True)
class AlertEngine:
    """`firing` may be given: alerts that fired before a restart go on and can clear."""

    firing: dict[tuple[str, str], Event] = field(default_factory=dict)
    _pending: dict[tuple[str, str], float] = field(default_factory=dict)
    """Since when a rule is broken whose time is not up yet."""

    def step(
        self, rules: Iterable[Rule], silences: Mapping[str, Silence], seen: Observations, now: float
    ) -> list[Event]:
        """What has changed: events that fired now, and events that cleared now."""
        active = {rule.name: rule for rule in rules if rule.enabled}
        changed = [self._clear(key, now) for key in list(self.firing) if key[0] not in active]
        for name, rule in active.items():
            found = violations(rule, seen)
            if found is None:
                continue
            silence = silences.get(name)
            silenced = silence is not None and silence.until > now
            changed += self._judge(rule, found, silenced, now)
        return changed

    def _judge(self, rule: Rule, found: Mapping[str, str], silenced: bool, now: float) -> list[Event]:
        gone = [key for key in self.firing if key[0] == rule.name and key[1] not in found]
        changed = [self._clear(key, now) for key in gone]
        for key in [key for key in self._pending if key[0] == rule.name and key[1] not in found]:
            del self._pending[key]
        for subject, sentence in found.items():
            key = (rule.name, subject)
            since = self._pending.setdefault(key, now)
            if key not in self.firing and now - since >= rule.for_s:
                self.firing[key] = Event(rule.name, subject, sentence, now, silenced=silenced)
                changed.append(self.firing[key])
        return changed

    def _clear(self, key: tuple[str, str], now: float) -> Event:
        self._pending.pop(key, None)
        return msgspec.structs.replace(self.firing.pop(key), cleared_at=now)
