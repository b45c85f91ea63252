"""The packages and their layers in pyproject.toml, and the map of ARCHITECTURE.md that describes them.

Lists of packages are taken from here, so that a new package is in all of them.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import NamedTuple

from tests.house.sources import PACKAGE, ROOT

MAP_ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \|(.*)\| ([^|]+) \|$", re.MULTILINE)
DECIDES = ("no", "disk only")
"""How the last column of the map begins for a package that decides: what waits is elsewhere."""


class MapRow(NamedTuple):
    packages: tuple[str, ...]
    may_block: str


@cache
def layers() -> list[set[str]]:
    """The packages of each layer of the import contract that exist, highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["id"] == "layers"]
    named = [{name.strip(" ()") for name in layer.split("|")} for layer in contract["layers"]]
    found = [{name for name in layer if name in packages()} for layer in named]
    return [layer for layer in found if layer]


@cache
def packages() -> set[str]:
    """Packages and single modules under `penstock`, without the files that every package has."""
    found = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return found | {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}


def map_rows() -> list[MapRow]:
    """The table under "The map", in its order."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## The map")[2].partition("\n## ")[0]
    return [
        MapRow(tuple(name.strip("`") for name in names.split(", ")), may_block.strip())
        for names, _, may_block in MAP_ROW.findall(text)
    ]


def deciding_packages() -> set[str]:
    """The packages in which nothing blocks."""
    return {name for row in map_rows() if row.may_block.startswith(DECIDES) for name in row.packages}
