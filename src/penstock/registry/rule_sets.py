"""Whether clients can run a rule set: checked at registration where the settings say `validateRules`."""

from __future__ import annotations

from typing import Any, Final

from penstock.registry.errors import invalid_rules

KINDS: Final = ("TRANSFORM", "CONDITION")
MODES: Final = {
    "migrationRules": ("UPGRADE", "DOWNGRADE", "UPDOWN"),
    "domainRules": ("WRITE", "READ", "WRITEREAD"),
    "encodingRules": ("WRITE", "READ", "WRITEREAD"),
}
"""The lists of a rule set, and the modes of their rules."""


def check_rules(rule_set: dict[str, Any] | None) -> None:
    """Refuses with 42210 and the name of the first rule that is wrong."""
    for kind, modes in MODES.items():
        rules = (rule_set or {}).get(kind) or []
        if not isinstance(rules, list):
            raise invalid_rules(f"{kind} is no list")
        names: set[str] = set()
        for rule in rules:
            if not isinstance(rule, dict):
                raise invalid_rules(f"{kind} has an item that is no rule")
            _check_rule(rule, kind, modes)
            if rule["name"] in names:
                raise invalid_rules(f"{kind} has two rules of the name {rule['name'][:80]!r}")
            names.add(rule["name"])


def _check_rule(rule: dict[str, Any], kind: str, modes: tuple[str, ...]) -> None:
    name = rule.get("name")
    if not isinstance(name, str) or not name.strip():
        raise invalid_rules(f"a rule of {kind} has no name")
    if not isinstance(rule.get("type"), str) or not rule["type"]:
        raise invalid_rules(f"the rule {name[:80]!r} has no type")
    if rule.get("kind") not in (None, *KINDS):
        raise invalid_rules(f"the kind of the rule {name[:80]!r} is none of {', '.join(KINDS)}")
    if rule.get("mode") not in (None, *modes):
        raise invalid_rules(f"the mode of the rule {name[:80]!r} of {kind} is none of {', '.join(modes)}")
