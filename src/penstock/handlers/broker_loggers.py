"""The loggers of this broker as a resource of DescribeConfigs and IncrementalAlterConfigs (KIP-412).

Levels belong to the process: they are not kept, and a restart begins with those of the command line. Names
are those of Python's loggers, such as `penstock.server`, and `kafka.request.logger` of slow requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.controller.configs import Operation
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import log_levels

BROKER_LOGGER: Final = 8
_DYNAMIC_BROKER_LOGGER: Final = 6
_VALID: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")


def entries(name: str, node_id: int) -> list[dict[str, Any]]:
    """Every logger with its level, as DescribeConfigs has it."""
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    if not _is_number(name):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {node_id} but received {name}"
        )
    return [
        {
            "name": each,
            "value": log_levels.level_of(each),
            "read_only": False,
            "config_source": _DYNAMIC_BROKER_LOGGER,
            "is_sensitive": False,
            "synonyms": [],
            "config_type": 0,
            "documentation": None,
        }
        for each in (log_levels.ROOT, *log_levels.logger_names())
    ]


def change(name: str, changes: Sequence[Any], node_id: int, *, validate_only: bool) -> None:
    """Sets levels, or lets loggers follow the one above them again; all of the changes or none."""
    if not _is_number(name):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unexpected node id. Expected {node_id}, but received {name}"
        )
    for each in changes:
        _check(each)
    if validate_only:
        return
    for each in changes:
        if each.config_operation == Operation.SET:
            log_levels.set_level(each.name, each.value)
        else:
            log_levels.clear_level(each.name)


def _check(change: Any) -> None:
    if change.config_operation not in (Operation.SET, Operation.DELETE):
        known = [each.name for each in Operation if each == change.config_operation]
        which = f"{known[0]} operation" if known else f"Unknown operation type {change.config_operation}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{which} is not allowed for the BROKER_LOGGER resource")
    if not log_levels.exists(change.name):  # first: what is given to no logger may be a secret
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist!")
    if change.config_operation == Operation.SET and change.value not in _VALID:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log "
            f"level. Valid log levels are {', '.join(_VALID)}",
        )
    if change.config_operation == Operation.DELETE and change.name == log_levels.ROOT:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Removing the log level of the {log_levels.ROOT} logger is not allowed",
        )


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
