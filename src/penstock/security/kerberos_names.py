"""From names of Kerberos to names of users: `sasl.kerberos.principal.to.local.rules`, as Kafka reads them.

DEFAULT                          alice@REALM is alice, in the realm of the broker itself
RULE:[2:$1](.*)s/-admin$//g/L    of names with two parts the first, without its ending, in lower case
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"([^/@]*)(/([^/@]*))?@([^/@]*)")
_RULE: Final = re.compile(
    r"(?P<default>DEFAULT)|RULE:\[(?P<parts>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?"
)
_SPLIT: Final = re.compile(r",\s*(?=RULE:|DEFAULT)")
_PARAMETER: Final = re.compile(r"\$(\d+)")
_REFERENCE: Final = re.compile(r"\$(\d)")


class _Rule(NamedTuple):
    """`parts` is 0 for the rule DEFAULT."""

    parts: int
    format: str
    match: re.Pattern[str] | None
    old: re.Pattern[str] | None
    new: str
    is_for_all: bool
    case: str


class KerberosNames:
    """The rules of one listener. ValueError for a rule of another form."""

    def __init__(self, rules: str, realm: str) -> None:
        self._realm = realm
        self._rules = [_parsed(rule.strip()) for rule in _SPLIT.split(rules.strip() or "DEFAULT")]

    def user_of(self, principal: str) -> str:
        """ValueError when no rule gives this principal a user."""
        match = _NAME.fullmatch(principal)
        if match is None:
            raise ValueError(f"{principal!r} is no name of Kerberos")
        params = [match[4], match[1], *([match[3]] if match[2] else [])]
        for rule in self._rules:
            found = self._applied(rule, params)
            if found is not None:
                return found
        raise ValueError(f"No rules apply to {principal}")

    def _applied(self, rule: _Rule, params: list[str]) -> str | None:
        if not rule.parts:
            return params[1] if params[0] == self._realm else None
        if len(params) - 1 != rule.parts:
            return None
        base = _PARAMETER.sub(lambda found: params[int(found[1])], rule.format)
        if rule.match is not None and rule.match.fullmatch(base) is None:
            return None
        if rule.old is not None:
            base = rule.old.sub(rule.new, base, count=0 if rule.is_for_all else 1)
        if "/" in base or "@" in base:
            raise ValueError(f"Non-simple name {base} after a rule")
        return {"L": base.lower(), "U": base.upper()}.get(rule.case, base)


def _parsed(text: str) -> _Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"Invalid rule: {text}")
    if match["default"]:
        return _Rule(0, "", None, None, "", False, "")
    highest = max((int(number) for number in _PARAMETER.findall(match["format"])), default=0)
    if highest > int(match["parts"]):
        raise ValueError(f"Invalid rule: {text}: index {highest} is outside of the valid range")
    try:
        return _Rule(
            int(match["parts"]),
            match["format"],
            None if match["match"] is None else re.compile(match["match"]),
            None if match["old"] is None else re.compile(match["old"]),
            _REFERENCE.sub(r"\\\1", match["new"] or ""),
            match["all"] is not None,
            match["case"] or "",
        )
    except re.error as error:
        raise ValueError(f"Invalid rule: {text}: {error}") from None
