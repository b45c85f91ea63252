"""Which options there are, by their names; what they mean is `penstock.spark.options`.

Names are compared in lower case, as Spark does, and shown as they are documented. A client setting
(`kafka.…`) that only tunes another client is ignored, so that a user of `format("kafka")` changes the name of
the format and nothing else. A setting that would have changed what is read or written is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from penstock.spark.format_options import ERROR_NAMES, NAMES

SERVERS: Final = "kafka.bootstrap.servers"
READING: Final = (
    SERVERS,
    *("subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets", "startingTimestamp"),
    *("endingTimestamp", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp"),
    *("startingOffsetsByTimestampStrategy", "maxOffsetsPerTrigger", "includeHeaders", "failOnDataLoss"),
    *("minPartitions", "maxRecordsPerPartition", "minOffsetsPerTrigger", "maxTriggerDelay"),
    *("groupIdForOffsets", "columns", "path", *NAMES, *ERROR_NAMES),
    # What tunes the other connector's consumers and has no counterpart here.
    *(
        "kafkaConsumer.pollTimeoutMs",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
        "groupIdPrefix",
    ),
)
# Spark hands its own options on, the name of a streaming query among them.
WRITING: Final = (SERVERS, "topic", "path", "checkpointLocation", "queryName", "includeHeaders", *NAMES)
_SPELLED: Final = {name.lower(): name for name in (*READING, *WRITING)}
_DECODED: Final = "keys and values are bytes until keyFormat and valueFormat, or a cast, say otherwise"
# What would change the rows and cannot, with what to say in its place.
_INSTEAD: Final = {
    "kafka.auto.offset.reset": "startingOffsets says where to begin, and failOnDataLoss what a loss is",
    "kafka.enable.auto.commit": "the checkpoint knows the place, and groupIdForOffsets shows it to others",
    "kafka.key.deserializer": _DECODED,
    "kafka.value.deserializer": _DECODED,
    "kafka.key.serializer": _DECODED,
    "kafka.value.serializer": _DECODED,
    "kafka.interceptor.classes": "nothing of Java's runs here",
    "kafka.transactional.id": "write_stream makes one of the query's id",
}


class OptionError(ValueError):
    """An option that is missing, wrong or not to be had; the message says which and what to write instead."""


def spelled(name: str) -> str:
    """An option in lower case as people write it."""
    return _SPELLED.get(name, name)


def checked(options: Mapping[str, str], known: tuple[str, ...], doing: str) -> dict[str, str]:
    """The options with their names in lower case; one that means nothing or cannot be honoured is refused."""
    given = {name.lower(): value for name, value in options.items()}
    names = {name.lower() for name in known}
    for name in given:
        if name in _INSTEAD:
            raise OptionError(f"{name} cannot be set: {_INSTEAD[name]}. Leave it out")
        if name not in names and not name.startswith("kafka."):
            raise OptionError(_meaningless(name, known, doing))
    if not given.get(SERVERS, "").strip():
        raise OptionError(f"set .option({SERVERS!r}, 'host:port') to the address of a broker")
    return given


def _meaningless(name: str, known: tuple[str, ...], doing: str) -> str:
    told = f"option {spelled(name)!r} means nothing for {doing} with format('penstock')"
    near = get_close_matches(name, [each.lower() for each in known], 1, cutoff=0.75)
    return f"{told}: is {spelled(near[0])!r} meant?" if near else told
