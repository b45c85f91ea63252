"""Whose a directory is: `meta.properties` in a log directory, `partition.metadata` in the directory of a log.

Both have Kafka's formats, so that its tools read our directories. Ids are written as Kafka writes UUIDs:
base64 for URLs, without padding. Called by `penstock.storage.logs`.
"""

from __future__ import annotations

import base64
import os
from random import Random
from typing import NamedTuple

from penstock.storage.disk import Disk
from penstock.storage.errors import Corruption

META_PROPERTIES = "meta.properties"
PARTITION_METADATA = "partition.metadata"
_META_VERSION = "1"
_UUID_BYTES = 16


class Meta(NamedTuple):
    """To which cluster and node a log directory belongs, and its own id."""

    cluster_id: str
    node_id: int
    directory_id: str


def new_id(random: Random) -> str:
    """A random UUID (version 4) in Kafka's spelling."""
    value = bytearray(random.randbytes(_UUID_BYTES))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    return _spell(bytes(value))


def id_of(text: str) -> bytes:
    """The sixteen bytes of an id in Kafka's spelling."""
    return base64.urlsafe_b64decode(text + "==")


def read_meta(disk: Disk, directory: str) -> Meta | None:
    """What `meta.properties` says; None when the directory is new."""
    path = os.path.join(directory, META_PROPERTIES)
    try:
        text = disk.read_bytes(path).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise Corruption(path, error.start, "not a text file") from error
    properties = dict(
        line.partition("=")[::2] for line in text.splitlines() if line and not line.startswith("#")
    )
    try:
        if properties["version"] != _META_VERSION:
            raise ValueError(f"version {properties['version']!r} is not {_META_VERSION}")
        return Meta(properties["cluster.id"], int(properties["node.id"]), properties["directory.id"])
    except (KeyError, ValueError) as error:
        raise Corruption(path, 0, f"no meta.properties of this version: {error}") from error


def write_meta(disk: Disk, directory: str, meta: Meta) -> None:
    lines = (
        f"version={_META_VERSION}",
        f"cluster.id={meta.cluster_id}",
        f"node.id={meta.node_id}",
        f"directory.id={meta.directory_id}",
    )
    text = "".join(f"{line}\n" for line in lines)
    disk.write_atomic(os.path.join(directory, META_PROPERTIES), text.encode())


def read_topic_id(disk: Disk, log_path: str) -> bytes | None:
    """The id of the topic whose log stands in `log_path`; None when it was never written."""
    path = os.path.join(log_path, PARTITION_METADATA)
    try:
        lines = disk.read_bytes(path).decode("ascii").splitlines()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise Corruption(path, error.start, "not a text file") from error
    try:
        fields = dict(line.split(": ", 1) for line in lines)
        topic_id = base64.urlsafe_b64decode(fields["topic_id"] + "==")
        if fields["version"] != "0" or len(topic_id) != _UUID_BYTES:
            raise ValueError(f"version {fields['version']}, an id of {len(topic_id)} bytes")
    except (KeyError, ValueError) as error:
        raise Corruption(path, 0, f"no partition.metadata of this version: {error}") from error
    return topic_id


def write_topic_id(disk: Disk, log_path: str, topic_id: bytes) -> None:
    text = f"version: 0\ntopic_id: {_spell(topic_id)}\n"
    disk.write_atomic(os.path.join(log_path, PARTITION_METADATA), text.encode())


def _spell(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
