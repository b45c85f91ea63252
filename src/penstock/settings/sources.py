"""Where the settings of a broker come from: a properties file, `KAFKA_…` variables, and the command line.

The strongest comes last: file, then environment (as in Kafka's container images), then `--set`. Values stay
text here; the tables give them types.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from penstock.settings.config_providers import resolved
from penstock.settings.errors import SettingError
from penstock.settings.properties import PropertiesError, parse_properties
from penstock.settings.secret_files import exposed, files_with_secrets
from penstock.settings.security import OAUTH_ALLOWED_URLS

_log = logging.getLogger(__name__)

_PREFIX: Final = "KAFKA_"
_OF_KAFKAS_SCRIPTS: Final = frozenset(
    {
        "KAFKA_CLASSPATH",
        "KAFKA_DEBUG",
        "KAFKA_DEBUG_SUSPEND_FLAG",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_CMD_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_MODE",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    }
)
"""Variables that Kafka's own start scripts and images read; they are no settings of the broker."""


def collect(
    properties_path: str | None, overrides: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Every setting that was given anywhere, each from its strongest source."""
    from_file = parsed_file(properties_path) if properties_path is not None else {}
    if "listeners" in overrides:
        # The file advertises the addresses on which it listens. A broker that listens elsewhere must not
        # advertise them.
        from_file.pop("advertised.listeners", None)
    _warn_of_exposed(properties_path, from_file)
    return resolved({**from_file, **from_environment(environ), **overrides}, environ)


def read_properties(path: str) -> dict[str, str]:
    """The settings of a properties file, with the values of its variables (`${file:/path:key}`). Raises
    SettingError when the file cannot be read, or a variable has no value."""
    written = parsed_file(path)
    _warn_of_exposed(path, written)
    return resolved(written)


def _warn_of_exposed(path: str | None, written: Mapping[str, str]) -> None:
    for exposed_path in exposed(files_with_secrets(path, written)):
        _log.warning("%s holds secrets, and every user of this machine may read it: chmod o-r", exposed_path)


def parsed_file(path: str) -> dict[str, str]:
    """The settings of a properties file as they are written. Raises SettingError when it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except (OSError, UnicodeDecodeError, PropertiesError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"Cannot read the settings file {path}: {reason}"
        raise SettingError(message, setting="", value=path, allowed="") from error


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """As Kafka's images: `KAFKA_LOG_DIRS` is log.dirs; two underscores mean one, and three mean a dash."""
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if variable.startswith(_PREFIX) and variable not in _OF_KAFKAS_SCRIPTS:
            found[_setting_of(variable)] = value
    if OAUTH_ALLOWED_URLS in (urls := _java_properties(environ.get("KAFKA_OPTS", ""))):
        found[OAUTH_ALLOWED_URLS] = urls[OAUTH_ALLOWED_URLS]
    return found


def _java_properties(options: str) -> dict[str, str]:
    """The properties `-Dname=value` of the options of a Java machine."""
    words = (word.strip("\"'").partition("=") for word in options.split() if word.startswith("-D"))
    return {name.removeprefix("-D"): value for name, _, value in words}


def _setting_of(variable: str) -> str:
    dotted = variable.removeprefix(_PREFIX).lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def parse_assignment(text: str) -> tuple[str, str]:
    """`name=value` as given with --set."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        message = f"{text!r} is not of the form name=value"
        raise SettingError(message, setting=name.strip(), value=None, allowed="name=value")
    return name.strip(), value
