"""Statements as they may be shown: what stands for a secret in their properties is `'[string]'`, as in
ksqlDB.

Works on the text, because a statement that cannot be parsed is shown as well, in its error.
"""

from __future__ import annotations

import re
from typing import Final

from penstock.settings.secret_files import is_secret

_MASK: Final = "'[string]'"
_PROPERTY: Final = re.compile(r"""(['"`]?)([A-Za-z0-9_.\-]+)\1(\s*=\s*)('(?:[^']|'')*'?)""")


def masked(text: str) -> str:
    """`'connection.password' = 'x'` becomes `'connection.password' = '[string]'`."""
    return _PROPERTY.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    quote, name, between, _ = found.groups()
    is_property = quote or "." in name  # and no column of a condition
    return f"{quote}{name}{quote}{between}{_MASK}" if is_property and is_secret(name) else found[0]
