"""Variables in settings, as Kafka writes them: `${provider:path:key}` and `${provider:key}`.

Pure: a provider is a function from path and key to a text. `config_providers` has the providers that read
files and the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from penstock.settings.errors import SettingError

Lookup = Callable[[str, str], str | None]
"""The text that stands under a path and a key; None when there is none. `${env:NAME}` has an empty path."""

_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


def substituted(texts: Mapping[str, str], lookups: Mapping[str, Lookup]) -> dict[str, str]:
    """These settings with the value of every variable in its place. A text that was put in is not looked
    through again.

    As in Kafka, a variable of a provider that has no name here is left as it is. Unlike in Kafka, a variable
    without a value is refused with SettingError: a password must never be the text of its own variable.
    """
    return {name: _VARIABLE.sub(partial(_value, name, lookups), text) for name, text in texts.items()}


def _value(setting: str, lookups: Mapping[str, Lookup], match: re.Match[str]) -> str:
    provider, path, key = match[1], match[2] or "", match[3]
    lookup = lookups.get(provider)
    if lookup is None:
        return match[0]
    found = lookup(path, key)
    if found is None:
        where = f" in {path}" if path else ""
        message = f"The variable {match[0]} of {setting} has no value: {provider} finds no {key!r}{where}"
        raise SettingError(message, setting=setting, value=match[0], allowed="")
    return found
