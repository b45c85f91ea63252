"""The contract of a schema: its metadata, its tags and its rules, as a registry tells them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final


class Mode(StrEnum):
    WRITE = "WRITE"
    READ = "READ"
    UPGRADE = "UPGRADE"
    DOWNGRADE = "DOWNGRADE"


CONDITION: Final = "CONDITION"
TRANSFORM: Final = "TRANSFORM"
DOMAIN: Final = "domainRules"
ENCODING: Final = "encodingRules"
MIGRATION: Final = "migrationRules"
_BOTH: Final = {
    "WRITEREAD": (Mode.WRITE, Mode.READ),
    "UPDOWN": (Mode.UPGRADE, Mode.DOWNGRADE),
}


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    type: str
    """CEL, CEL_FIELD, JSONATA, ENCRYPT, …: who runs it."""
    kind: str
    mode: str
    tags: frozenset[str]
    """Fields that have one of them; every field without any."""
    params: Mapping[str, str] = field(hash=False)
    expr: str = ""
    doc: str = ""
    on_success: str = ""
    on_failure: str = ""

    def runs_in(self, mode: Mode) -> bool:
        return mode in _BOTH.get(self.mode, (self.mode,))

    def action(self, mode: Mode, *, failed: bool) -> str:
        """A rule of two modes may name two actions, `A,B`: the second is for reading or for going back."""
        given = self.on_failure if failed else self.on_success
        parts = [part.strip().upper() for part in given.split(",")]
        chosen = parts[_BOTH[self.mode].index(mode)] if self.mode in _BOTH and len(parts) > 1 else parts[0]
        return chosen or ("ERROR" if failed else "NONE")

    def is_shadowed_by(self, other: Rule) -> bool:
        """Whether both transform the same fields in the same way, so that only one of them may."""
        return bool(self.tags) and self.kind == TRANSFORM and (
            (self.kind, self.mode, self.type, self.tags) == (other.kind, other.mode, other.type, other.tags)
        )  # fmt: skip


@dataclass(frozen=True)
class Contract:
    """What a version says beside its schema. Empty for most."""

    properties: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By paths of fields, with `*` and `**`."""
    rules: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)

    def has_rules(self, mode: Mode, kind: str = DOMAIN) -> bool:
        return any(rule.runs_in(mode) for rule in self.rules.get(kind, ()))

    def ordered(self, mode: Mode, kind: str) -> tuple[Rule, ...]:
        """Reading and going back undo what writing and going forward did: the last rule first."""
        rules = self.rules.get(kind, ())
        return rules[::-1] if mode in (Mode.READ, Mode.DOWNGRADE) else rules

    def tags_of(self, full_name: str) -> frozenset[str]:
        return frozenset(
            tag for path, tags in self.tags.items() if _pattern(path).fullmatch(full_name) for tag in tags
        )


EMPTY: Final = Contract()


def contract_of(metadata: Mapping[str, Any] | None, rule_set: Mapping[str, Any] | None) -> Contract:
    """Of the `metadata` and `ruleSet` of a registry's answer."""
    if not metadata and not rule_set:
        return EMPTY
    told = metadata or {}
    return Contract(
        dict(told.get("properties") or {}),
        {path: tuple(tags) for path, tags in (told.get("tags") or {}).items()},
        {kind: _rules((rule_set or {}).get(kind)) for kind in (DOMAIN, ENCODING, MIGRATION)},
    )


def _rules(given: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            rule.get("name") or "",
            str(rule.get("type") or "").upper(),
            rule.get("kind") or CONDITION,
            rule.get("mode") or "WRITEREAD",
            frozenset(rule.get("tags") or ()),
            dict(rule.get("params") or {}),
            rule.get("expr") or "",
            rule.get("doc") or "",
            rule.get("onSuccess") or "",
            rule.get("onFailure") or "",
        )
        for rule in given or ()
        if not rule.get("disabled")
    )


@lru_cache(maxsize=1000)
def _pattern(path: str) -> re.Pattern[str]:
    """`?` is one character and `*` any number within a name; `**` goes across names."""
    parts = re.split(r"(\*\*|\*|\?)", path.replace("**.*", "**"))
    meanings = {"**": ".*", "*": r"[^.]*", "?": r"[^.]"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts))
