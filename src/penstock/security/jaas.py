"""JAAS strings, as Kafka's `sasl.jaas.config` has them:

org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s3cret";
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>[=;])
      | (?P<word>[^\s=;"']+)
    )""",
    re.VERBOSE | re.DOTALL,
)


class JaasError(ValueError):
    """A text that is no JAAS configuration. The message holds no value: values are secrets."""


class LoginModule(NamedTuple):
    """One entry of a JAAS configuration."""

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        """Without the values, which are passwords."""
        return f"LoginModule({self.name}, options={sorted(self.options)})"


def parse_jaas(text: str) -> LoginModule:
    """The one entry of the text. JaasError when there is none, or more than one, as Kafka has it."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != ("sign", ";"):
        raise JaasError("a JAAS configuration is 'Module required name=\"value\" …;', and ends with ';'")
    (_, module), (_, flag), *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise JaasError(f"after the module of a JAAS configuration comes one of {', '.join(_FLAGS)}")
    options: dict[str, str] = {}
    while rest:
        if len(rest) < 3 or rest[0][0] != "word" or rest[1] != ("sign", "=") or rest[2][0] == "sign":
            raise JaasError(f'an option of {module} is not of the form name="value"')
        options[rest[0][1]] = rest[2][1]
        rest = rest[3:]
    return LoginModule(module, options)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise JaasError("a quotation mark in the JAAS configuration has no partner")
        position = match.end()
        kind = str(match.lastgroup)
        value = match[kind]
        found.append(("word", _unquoted(value)) if kind == "quoted" else (kind, value))
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
