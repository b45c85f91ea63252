"""What is never shown of a configuration: passwords, unless they are variables of a config provider.

A client that reads a configuration, changes it and writes it back gives `[hidden]` for what it never saw. The
value that was there stays then.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from penstock.connect.api.config_def import HIDDEN
from penstock.connect.config.validation import Validated
from penstock.connect.plugins import Plugin
from penstock.settings.secret_files import is_secret

SHORTEST: Final = 3
"""A shorter secret is no secret, and to hide it would spoil every text."""
_VARIABLES: Final = re.compile(r"(\$\{[^}]*\})+")
_URL_PASSWORD: Final = re.compile(
    r"(://[^/@:\s]*:)([^/@\s]+)(?=@)|([?&;][\w.-]*(?:password|secret|token)=)([^&;#\s\"']+)", re.I
)
_INNER: Final = re.compile(r"(?:password|secret|token)\s*=\s*\"((?:[^\"\\]|\\.)+)\"|^[^:\s]+:\s*(.+)$", re.I)
"""Secrets inside secrets: of a JAAS entry, and behind the colon of `user:password` or a header."""


def without_secrets(config: Mapping[str, str], plugin: Plugin | None = None) -> dict[str, str]:
    declared = plugin.connector.CONFIG.secret if plugin is not None else frozenset()
    return {name: _shown(name, value, declared) for name, value in config.items()}


def _shown(name: str, value: str, declared: frozenset[str]) -> str:
    if _VARIABLES.fullmatch(str(value)):
        return value
    if name in declared or is_secret(name):
        return HIDDEN
    return without_url_password(str(value))


def redacted(text: str, config: Mapping[str, str], shown: Mapping[str, str], plugin: Plugin) -> str:
    """A text, such as the trace of an error, without the secrets of a configuration."""
    declared = plugin.connector.CONFIG.secret
    found: set[str] = set()
    for name, value in config.items():
        if shown.get(name, value) != value or name in declared or is_secret(name):
            found |= {value, *(part for each in _INNER.findall(value) for part in each)}
        else:
            found |= {unquote(each[1] or each[3]) for each in _URL_PASSWORD.findall(value)}
    users = [value for name, value in config.items() if name.endswith(("user", "username"))]
    spelled = {form for each in found if len(each) >= SHORTEST for form in _spellings(each, users)}
    for each in sorted(spelled, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return without_url_password(text)


def _spellings(secret: str, users: Sequence[str]) -> Iterator[str]:
    """How a secret may stand in a text: as it is, escaped, in an address, or in a header of basic
    authentication."""
    yield from (
        secret,
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
    )
    for each in (secret, *(f"{user}:{secret}" for user in users)):
        yield base64.b64encode(each.encode()).decode()


def without_url_password(text: str) -> str:
    """`//user:x@host` and `?password=x`."""
    return _URL_PASSWORD.sub(lambda found: f"{found[1] or found[3]}{HIDDEN}", text)


def validation_shown(
    found: Validated, given: Mapping[str, str], resolved: Mapping[str, str], plugin: Plugin
) -> Validated:
    """The answer of a validation, which was made with the secrets, without them."""
    shown = without_secrets(given, plugin)
    values = []
    for value in found.values:
        name = value.key.name
        is_hidden = name in shown and shown[name] != resolved.get(name)
        errors = [redacted(error, resolved, given, plugin) for error in value.errors]
        values.append(value._replace(value=shown[name] if is_hidden else value.value, errors=errors))
    return found._replace(values=values)


def merged_secrets(config: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """A configuration that comes back, with the secrets that its writer was not shown."""
    return {
        name: known[name] if name in known and HIDDEN in str(value) else value
        for name, value in config.items()
    }
