"""The settings that say where files are, for source and sink alike, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.connect.api import ConfigKey, Importance, Kind
from penstock.connect.api.guards import Forbidden, allowed_address, allowed_path
from penstock.connect.api.refusals import Mistakes

_HIGH, _MEDIUM, _TEXT = Importance.HIGH, Importance.MEDIUM, Kind.STRING
KEYS: Final = (
    ConfigKey(
        "store.url",
        _TEXT,
        "",
        _HIGH,
        "file:///DIRECTORY, hdfs://HOST:PORT/DIRECTORY, or the address of an S3-compatible store.",
    ),
    ConfigKey("hdfs.url", _TEXT, "", _HIGH, "hdfs://HOST:PORT/DIRECTORY."),
    ConfigKey("s3.bucket.name", _TEXT, "", _HIGH, "The bucket."),
    ConfigKey("s3.region", _TEXT, "us-west-2", _MEDIUM, "Its region."),
    ConfigKey("aws.access.key.id", _TEXT, None, _HIGH, "The key; the machine's own if it is not given."),
    ConfigKey("aws.secret.access.key", Kind.PASSWORD, None, _HIGH, "Its secret."),
)


def place_mistakes(config: Mapping[str, Any]) -> Mistakes:
    url = config.get("store.url") or config.get("hdfs.url") or ""
    try:
        if url.startswith("file://"):
            allowed_path(config, url.removeprefix("file://"))
        elif not config.get("s3.bucket.name") and not url.startswith("hdfs://"):
            return [("store.url", "Give s3.bucket.name, or begin with file:// or hdfs://")]
        elif url:
            allowed_address(url)
    except Forbidden as error:
        return [("store.url", str(error))]
    return []
