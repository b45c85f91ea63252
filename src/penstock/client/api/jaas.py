"""Java's log-in text (`sasl.jaas.config`), as librdkafka wants it: a name and a password."""

from __future__ import annotations

import re
from typing import Any, Final

from penstock.client.api.exceptions import ConfigException

_OPTION: Final = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"|(\w+)\s*=\s*([^\s;"]+)')
_PASSWORD_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")


def login(text: Any) -> dict[str, Any]:
    module = str(text).split(None, 1)[0] if str(text).strip() else ""
    if not module.endswith(_PASSWORD_MODULES):
        raise ConfigException(
            f"sasl.jaas.config names {module or 'nothing'}; this client takes PlainLoginModule and "
            "ScramLoginModule. "
            "For other mechanisms use librdkafka's settings with the prefix 'librdkafka.'."
        )
    options = {
        quoted or bare: re.sub(r"\\(.)", r"\1", in_quotes) if quoted else plain
        for quoted, in_quotes, bare, plain in _OPTION.findall(str(text))
    }
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise ConfigException(f"sasl.jaas.config has no {' and no '.join(missing)}.")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}
