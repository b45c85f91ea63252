"""What is never shown of a configuration: passwords, unless they are variables of a config provider.

A client that reads a configuration, changes it and writes it back gives `[hidden]` for what it never saw. The
value that was there stays then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.connect.api.config_def import HIDDEN
from penstock.connect.plugins import Plugin
from penstock.settings.secret_files import is_secret

SHORTEST: Final = 3
"""A shorter secret is no secret, and to hide it would spoil every text."""
_VARIABLES: Final = re.compile(r"(\$\{[^}]*\})+")
_URL_PASSWORD: Final = re.compile(r"(://[^/@:\s]*:)([^/@\s]+)@")


def without_secrets(config: Mapping[str, str], plugin: Plugin | None = None) -> dict[str, str]:
    declared = plugin.connector.CONFIG.secret if plugin is not None else frozenset()
    return {name: _shown(name, value, declared) for name, value in config.items()}


def _shown(name: str, value: str, declared: frozenset[str]) -> str:
    if _VARIABLES.fullmatch(str(value)):
        return value
    if name in declared or is_secret(name):
        return HIDDEN
    return _URL_PASSWORD.sub(rf"\1{HIDDEN}@", str(value))


def redacted(text: str, config: Mapping[str, str], shown: Mapping[str, str], plugin: Plugin) -> str:
    """A text, such as the trace of an error, without the secrets of a configuration."""
    declared = plugin.connector.CONFIG.secret
    for name, value in config.items():
        from_provider = shown.get(name, value) != value
        if len(value) >= SHORTEST and (from_provider or name in declared or is_secret(name)):
            text = text.replace(value, HIDDEN)
    return _URL_PASSWORD.sub(rf"\1{HIDDEN}@", text)


def merged_secrets(config: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """A configuration that comes back, with the secrets that its writer was not shown."""
    return {
        name: known[name] if name in known and HIDDEN in str(value) else value
        for name, value in config.items()
    }
