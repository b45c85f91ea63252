"""Which settings are secrets, and which files with secrets every user of the machine may read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Final

_SECRET: Final = re.compile(
    r"(?:password|passwd|secret|secret\.key|access\.key|keystore\.key|api[._-]?key|credentials?|token|jaas\.config"
    r"|user\.info)$"
)
_KEYSTORE: Final = "ssl.keystore.location"
_FILE_VARIABLE: Final = re.compile(r"\$\{[^}:]*:(/[^}:]*):([^}]*)\}")


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a password, a key or a token: Kafka's type PASSWORD, and the
    names by which connectors and services call such things."""
    return _SECRET.search(name.lower()) is not None


def files_with_secrets(properties_path: str | None, written: Mapping[str, str]) -> set[str]:
    """The files that these settings take secrets from: the properties file when one of its secrets is no
    variable, keystores, and what the variables of secrets name. `written` is as in the file, with its
    variables."""
    found = {text for name, text in written.items() if name.endswith(_KEYSTORE) and text}
    for name, text in written.items():
        if not is_secret(name) or not text:
            continue
        variables = _FILE_VARIABLE.findall(text)
        for path, key in variables:
            found.add(os.path.join(path, key) if os.path.isdir(path) else path)
        if not variables and "${" not in text and properties_path is not None:
            found.add(properties_path)
    return found


def exposed(paths: Iterable[str]) -> list[str]:
    """Those of the files that users beside the owner and its group may read."""
    return sorted(path for path in paths if _others_may_read(path))


def _others_may_read(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & stat.S_IROTH)
    except OSError:
        return False
