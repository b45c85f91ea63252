"""`kafka-storage format`: log directories get their cluster's id and the first records of its metadata."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from random import SystemRandom
from typing import Final

from penstock.cli.kafka.add_scram import scram_record
from penstock.cli.kafka.feature_levels import (
    LATEST_RELEASE,
    METADATA,
    level_of,
    level_text,
    levels_of_release,
    release_of,
)
from penstock.cli.kafka.feature_levels import RELEASES as LEVELS
from penstock.cli.kafka.options import CommandFailed
from penstock.clock import SystemClock
from penstock.controller.features import SUPPORTED
from penstock.controller.metadata_records import FeatureLevelRecord, MetadataRecord
from penstock.controller.security_records import UserScramCredentialRecord
from penstock.controller.snapshot_content import BOOTSTRAP_FILE, bootstrap_bytes
from penstock.settings import BrokerSettings
from penstock.storage.disk import OsDisk
from penstock.storage.meta import Meta, new_id, read_meta, write_meta

_VOTERS: Final = "controller.quorum.voters"
_KRAFT: Final = "kraft.version"


def format_directories(given: Namespace, settings: BrokerSettings) -> None:
    _check_controllers(given, settings)
    levels = _levels(given.release_version, given.feature or [])
    users = [scram_record(text) for text in given.add_scram or []]
    records: list[MetadataRecord] = [
        *(FeatureLevelRecord(name, level) for name, level in levels.items() if level > 0),
        *users,
    ]
    empty = _empty(settings, given.cluster_id, ignore_formatted=given.ignore_formatted)
    if not empty:
        print("All of the log directories are already formatted.")
        return
    print(f"Bootstrap metadata: {_shown(records, levels[METADATA])}")
    release = level_text(METADATA, levels[METADATA])
    metadata_directory = settings.log_dirs[0]
    kind = "dynamic metadata voter" if given.standalone else "metadata"
    for directory in empty:
        what = kind if directory == metadata_directory else "data"
        print(f"Formatting {what} directory {directory} with metadata.version {release}.")
        _format(directory, Meta(given.cluster_id, settings.node_id, new_id(SystemRandom())), records)


def _check_controllers(given: Namespace, settings: BrokerSettings) -> None:
    """A node's voters are those of its settings, or itself alone."""
    if given.initial_controllers:
        voters = ",".join(part.rpartition(":")[0] for part in given.initial_controllers.split(","))
        raise CommandFailed(
            "--initial-controllers is not supported: the voters are those of the settings. "
            f"Write {_VOTERS}={voters} into the properties of every node"
        )
    if settings.voters and given.standalone:
        raise CommandFailed(
            f"You cannot specify {_VOTERS} and format the node with --initial-controllers or --standalone. "
            f"If you want to use dynamic quorum, please remove {_VOTERS} and specify "
            "controller.quorum.bootstrap.servers instead."
        )
    if given.standalone and "controller" not in settings.process_roles:
        raise CommandFailed("You can only use --standalone on a controller.")
    chosen = given.standalone or given.no_initial_controllers
    if "controller" in settings.process_roles and not settings.voters and not chosen:
        raise CommandFailed(
            f"Because {_VOTERS} is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )


def _levels(release: str | None, features: Sequence[str]) -> dict[str, int]:
    """The level of each feature of a new cluster, `metadata.version` first."""
    wanted = dict(level_of(text) for text in features)
    if METADATA in wanted and release is not None:
        raise CommandFailed(f"Use --release-version instead of --feature {METADATA}=X to avoid ambiguity.")
    known = ", ".join(sorted(SUPPORTED.keys() - {METADATA}))
    for name in wanted:
        if name not in SUPPORTED:
            raise CommandFailed(f"Unsupported feature: {name}. Supported features are: {known}")
    named = release_of(release) if release is not None else LATEST_RELEASE
    level = wanted.get(METADATA, LEVELS[named])
    lowest, highest = SUPPORTED[METADATA]
    if level < lowest:
        raise CommandFailed(f"{METADATA} {level_text(METADATA, level)} is too old to be supported.")
    if level > highest:
        raise CommandFailed(f"{METADATA} {level_text(METADATA, level)} is not yet stable.")
    defaults = levels_of_release(level_text(METADATA, level))
    found = {METADATA: level}
    for name in sorted(SUPPORTED.keys() - {METADATA, _KRAFT}):
        low, high = SUPPORTED[name]
        found[name] = wanted.get(name, max(low, defaults.get(name, low)))
        if not low <= found[name] <= high:
            raise CommandFailed(f"No feature:{name} with feature level {found[name]}")
    if wanted.get(_KRAFT, 0) != 0:
        raise CommandFailed(
            f"Cannot set {_KRAFT} to {wanted[_KRAFT]} unless {_VOTERS} is empty and one of the flags "
            "--standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic "
            "controllers support, try using one of --standalone, --initial-controllers, or "
            f"--no-initial-controllers and removing {_VOTERS}."
        )
    return found


def _empty(settings: BrokerSettings, cluster_id: str, *, ignore_formatted: bool) -> list[str]:
    """The directories that are not formatted yet."""
    disk, empty = OsDisk(), []
    for directory in sorted(settings.log_dirs):
        meta = read_meta(disk, directory) if disk.is_dir(directory) else None
        if meta is None:
            empty.append(directory)
            continue
        for name, expected, read in (
            ("cluster.id", cluster_id, meta.cluster_id),
            ("node.id", settings.node_id, meta.node_id),
        ):
            if expected != read:
                path = os.path.join(directory, "meta.properties")
                raise CommandFailed(f"Invalid {name} in: {path}. Expected {expected}, but read {read}")
        if not ignore_formatted:
            raise CommandFailed(
                f"Log directory {directory} is already formatted. "
                "Use --ignore-formatted to ignore this directory and format the others."
            )
    return empty


def _format(directory: str, meta: Meta, records: Sequence[MetadataRecord]) -> None:
    """The id comes last: a directory that has one is whole."""
    disk = OsDisk()
    os.makedirs(directory, exist_ok=True)
    mask = os.umask(0o077)  # no other user may read what is kept of passwords
    try:
        path = os.path.join(directory, BOOTSTRAP_FILE)
        disk.write_atomic(path, bootstrap_bytes(records, SystemClock().now_ms()))
    finally:
        os.umask(mask)
    write_meta(disk, directory, meta)


def _shown(records: Sequence[MetadataRecord], level: int) -> str:
    """The records as Kafka prints them, without what is kept of passwords."""
    shown = []
    for record in records:
        if isinstance(record, FeatureLevelRecord):
            text = f"FeatureLevelRecord(name='{record.name}', featureLevel={record.level})"
        else:
            assert isinstance(record, UserScramCredentialRecord)
            text = (
                f"UserScramCredentialRecord(name='{record.name}', mechanism={record.mechanism}, "
                "salt=(redacted), storedKey=(redacted), serverKey=(redacted), "
                f"iterations={record.iterations})"
            )
        shown.append(f"ApiMessageAndVersion({text} at version 0)")
    listed = ", ".join(shown)
    return f"BootstrapMetadata(records=[{listed}], metadataVersionLevel={level}, source=format command)"
