"""Where the values of variables come from: files, the environment, and directories of files (Kafka's config
providers).

    config.providers=file,env,directory
    config.providers.file.param.allowed.paths=/run/secrets
    ssl.keystore.password=${file:/run/secrets/broker.properties:keystore}

Every properties file is read through `resolved`. A service whose own configuration names the providers for
texts that arrive later, as Connect does for connectors, keeps a `ConfigProviders`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.settings.config_variables import Lookup, substituted
from penstock.settings.errors import SettingError
from penstock.settings.properties import PropertiesError, parse_properties

PROVIDERS: Final = "config.providers"
ALLOWED_PATHS: Final = "allowed.paths"
ALLOWLIST_PATTERN: Final = "allowlist.pattern"
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_CLASSES: Final = {
    "file": f"{_PACKAGE}FileConfigProvider",
    "env": f"{_PACKAGE}EnvVarConfigProvider",
    "directory": f"{_PACKAGE}DirectoryConfigProvider",
}
"""Kafka's class of each provider. A provider that has one of these names needs no `.class`."""


class ConfigProviders:
    """The providers that a configuration names."""

    def __init__(self, lookups: Mapping[str, Lookup]) -> None:
        self._lookups = lookups

    @classmethod
    def of(cls, texts: Mapping[str, str], environ: Mapping[str, str]) -> ConfigProviders:
        """From `config.providers`, `config.providers.<name>.class` and `config.providers.<name>.param.…`.
        SettingError for a provider that is not one of Kafka's three."""
        names = [name.strip() for name in texts.get(PROVIDERS, "").split(",")]
        return cls({name: _lookup(name, texts, environ) for name in names if name})

    def resolve(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The settings with their variables replaced; SettingError when one has no value."""
        return substituted(texts, self._lookups)


def resolved(texts: Mapping[str, str], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Settings that name their own providers, with their variables replaced."""
    return ConfigProviders.of(texts, os.environ if environ is None else environ).resolve(texts)


def _lookup(name: str, texts: Mapping[str, str], environ: Mapping[str, str]) -> Lookup:
    setting = f"{PROVIDERS}.{name}.class"
    chosen = texts.get(setting, _CLASSES.get(name, "")).strip()
    prefix = f"{PROVIDERS}.{name}.param."
    if chosen == _CLASSES["env"]:
        return _environment(environ, prefix + ALLOWLIST_PATTERN, texts.get(prefix + ALLOWLIST_PATTERN, ".*"))
    if chosen not in _CLASSES.values():
        message = (
            f"Invalid value {chosen or None} for configuration {setting}: "
            "Could not load config provider class or one of its dependencies"
        )
        allowed = ", ".join(_CLASSES.values())
        raise SettingError(message, setting=setting, value=chosen or None, allowed=allowed)
    paths = AllowedPaths(prefix + ALLOWED_PATHS, texts.get(prefix + ALLOWED_PATHS, ""))
    return _file(paths) if chosen == _CLASSES["file"] else _directory(paths)


class AllowedPaths:
    """The paths that a provider may open: everything below some directories, or everything."""

    def __init__(self, setting: str, text: str) -> None:
        self._setting = setting
        self._roots = [Path(os.path.normpath(part.strip())) for part in text.split(",") if part.strip()]
        for root in self._roots:
            if not root.is_absolute():
                raise _refused(setting, f"Path {root} is not absolute")
            if not root.exists():
                raise _refused(setting, f"Path {root} does not exist")

    def checked(self, path: str) -> Path:
        """The path without `..`; SettingError when it leads out of what is allowed. Links are followed first:
        one that stands inside may lead out."""
        plain = Path(os.path.normpath(path))
        if self._roots and not any(_is_inside(plain, root) for root in self._roots):
            raise _refused(self._setting, f"The path {path} is not allowed to be accessed")
        return plain


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _environment(environ: Mapping[str, str], setting: str, pattern: str) -> Lookup:
    try:
        allowed = re.compile(pattern)
    except re.error as error:
        raise _refused(setting, f"{pattern!r} is no regular expression: {error}") from None

    def lookup(path: str, key: str) -> str | None:
        if path:
            message = f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'"
            raise _refused(PROVIDERS, message)
        return environ.get(key) if allowed.fullmatch(key) else None

    return lookup


def _file(paths: AllowedPaths) -> Lookup:
    read: dict[Path, dict[str, str]] = {}

    def lookup(path: str, key: str) -> str | None:
        if not path:
            return None
        where = paths.checked(path)
        if where not in read:
            try:
                read[where] = parse_properties(where.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, PropertiesError):
                raise _refused(PROVIDERS, f"Could not read properties from file {path}") from None
        return read[where].get(key)

    return lookup


def _directory(paths: AllowedPaths) -> Lookup:
    def lookup(path: str, key: str) -> str | None:
        if not path or not key or "/" in key:
            return None
        where = paths.checked(str(Path(path) / key))
        try:
            return where.read_text(encoding="utf-8") if where.is_file() else None
        except (OSError, UnicodeDecodeError):
            raise _refused(PROVIDERS, f"Could not read file {where} for property {key}") from None

    return lookup


def _refused(setting: str, message: str) -> SettingError:
    return SettingError(message, setting=setting, value=None, allowed="")
