"""All scalar functions: the modules that hold them, one after the other."""

from __future__ import annotations

from typing import Final

from penstock.expressions.functions import (
    arithmetic,
    arrays,
    dates,
    encodings,
    json_texts,
    masks,
    nulls,
    regexps,
    texts,
    urls,
)
from penstock.expressions.functions.registry import ScalarFunction

_MODULES: Final = (arithmetic, arrays, dates, encodings, json_texts, masks, nulls, regexps, texts, urls)

SCALARS: Final[dict[str, ScalarFunction]] = {
    name: function for module in _MODULES for name, function in module.define.by_name.items()
}
"""Functions by name."""
