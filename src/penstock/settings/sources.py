"""Where the settings of a broker come from: a properties file, `KAFKA_…` variables, and the command line.

The strongest comes last: file, then environment (as in Kafka's container images), then `--set`. Values stay
text here; the tables give them types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.settings.errors import SettingError
from penstock.settings.properties import PropertiesError, parse_properties

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
    from_file = read_properties(properties_path) if properties_path is not None else {}
    if "listeners" in overrides:
        # The file advertises the addresses on which it listens. A broker that listens elsewhere must not
        # advertise them.
        from_file.pop("advertised.listeners", None)
    return {**from_file, **from_environment(environ), **overrides}


def read_properties(path: str) -> dict[str, str]:
    """The settings of a properties file. Raises SettingError when it cannot be read."""
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
    return found


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
