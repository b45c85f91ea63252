"""Connectors by the class names that configurations use: Penstock's own, those of installed packages (entry
point `penstock.connectors`), and those in the folders of `plugin.path`.

A name may be given in full, without its package, or without `Connector` at its end, as in Kafka.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from penstock import __version__
from penstock.connect.api.sink import SinkConnector
from penstock.connect.api.source import SourceConnector
from penstock.connect.connectors.table import BUILT_IN
from penstock.connect.errors import ConnectError

ENTRY_POINTS: Final = "penstock.connectors"
ConnectorClass = type[SourceConnector] | type[SinkConnector]


class Plugin(NamedTuple):
    """A connector as it is listed."""

    name: str
    connector: ConnectorClass
    location: str

    @property
    def kind(self) -> str:
        return "source" if issubclass(self.connector, SourceConnector) else "sink"

    @property
    def version(self) -> str:
        return self.connector.VERSION or __version__


class UnknownConnector(ConnectError):
    """No connector has this class name."""


class Plugins:
    """All connectors that this process can load."""

    def __init__(self, found: list[Plugin]) -> None:
        self._by_name = {plugin.name: plugin for plugin in found}
        self._short: dict[str, Plugin] = {}
        for plugin in found:
            for name in (plugin.name, *plugin.connector.NAMES):
                short = name.rpartition(".")[2]
                for each in (name, short, short.removesuffix("Connector")):
                    self._short.setdefault(each, plugin)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self._by_name[name] for name in sorted(self._by_name))

    def find(self, name: str) -> Plugin:
        found = self._short.get(name)
        if found is None:
            known = ", ".join(f"{each.name} ({each.kind}, {each.version})" for each in self)
            raise UnknownConnector(
                f"Failed to find any class that implements Connector and which name matches {name}, "
                f"available connectors are: {known}"
            )
        return found


@lru_cache(maxsize=8)
def load_plugins(plugin_path: str = "") -> Plugins:
    """Loads every connector; `plugin_path` are folders with commas between them."""
    found = [_plugin(_loaded(each), "penstock") for each in BUILT_IN]
    for entry in entry_points(group=ENTRY_POINTS):
        found.append(_plugin(entry.load(), f"package {entry.dist.name if entry.dist else entry.name}"))
    for folder in filter(None, (part.strip() for part in plugin_path.split(","))):
        found += _in_folder(Path(folder))
    return Plugins(found)


def _plugin(connector: ConnectorClass, location: str) -> Plugin:
    name = connector.NAMES[0] if connector.NAMES else f"{connector.__module__}.{connector.__qualname__}"
    return Plugin(name, connector, location)


def _loaded(place: str) -> ConnectorClass:
    module, _, name = place.partition(":")
    found: ConnectorClass = getattr(importlib.import_module(module), name)
    return found


def _in_folder(folder: Path) -> list[Plugin]:
    """Each file NAME.py and each folder NAME/ with an `__init__.py`; their connectors, not imported ones."""
    if not folder.is_dir():
        raise ConnectError(f"plugin.path names {folder}, which is no folder")
    found = []
    for path in sorted((*folder.glob("*.py"), *folder.glob("*/__init__.py"))):
        module = _module(path)
        for value in vars(module).values():
            is_connector = isinstance(value, type) and issubclass(value, (SourceConnector, SinkConnector))
            if is_connector and value.__module__ == module.__name__:
                found.append(_plugin(value, str(path)))
    return found


def _module(path: Path) -> ModuleType:
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    name = f"penstock_plugin_{stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConnectError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConnectError(f"{path} cannot be loaded: {error}") from error
    return module
