"""Objects that a setting names: an instance, a class, Java's class name or `module:Class` become the
object."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from penstock.client.api.exceptions import ConfigException
from penstock.client.api.serializers import REGISTRY_SERDES


def plugin(setting: str, given: Any, known: Mapping[str, Any]) -> Any:
    """The object for a setting's value; None where a Java name stands for the built-in way."""
    if isinstance(given, str):
        given = known[given] if given in known else REGISTRY_SERDES.get(given, given)
    if isinstance(given, str):
        given = _imported(setting, given)
    return given() if inspect.isclass(given) else given


def plugins(setting: str, given: Any, known: Mapping[str, Any]) -> list[Any]:
    """A list of them: given as a list, as one, or as text with commas."""
    if given is None or given == "":
        return []
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",") if name.strip()]
    elif not isinstance(given, Sequence):
        given = [given]
    return [plugin(setting, each, known) for each in given]


def configure(owner: Any, *arguments: Any) -> None:
    """Call `configure` where the object has it."""
    if callable(method := getattr(owner, "configure", None)):
        method(*arguments)


def close(owner: Any) -> None:
    if callable(method := getattr(owner, "close", None)):
        method()


def _imported(setting: str, name: str) -> Any:
    module, separator, attribute = name.partition(":")
    if not separator:
        module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigException(
            f"{setting}={name} names no class: {error}. Give a class, an object, a Java class name that this "
            "client knows, or a Python name such as package.module:Class."
        ) from error
