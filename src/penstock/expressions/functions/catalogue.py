"""All scalar functions: the modules that hold them, one after the other."""

from __future__ import annotations

from typing import Final

from penstock.expressions.functions import nulls, texts
from penstock.expressions.functions.registry import ScalarFunction

_MODULES: Final = (nulls, texts)

SCALARS: Final[dict[str, ScalarFunction]] = {
    name: function for module in _MODULES for name, function in module.define.by_name.items()
}
