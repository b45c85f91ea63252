"""`kafka-storage`: formats the log directories of a node, and describes them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from penstock.cli.kafka.arguments import ArgumentParser
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script


def storage(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.command == "random-uuid":
        return _print_random_uuid()
    if given.command == "version-mapping":
        return _print_versions(given.release_version)
    if given.command == "feature-dependencies":
        return _print_dependencies(given.feature)
    from penstock.settings import BrokerSettings, SettingError

    try:
        settings = BrokerSettings.load(given.config, {}, {})
    except SettingError as error:
        raise CommandFailed(str(error)) from error
    if given.command == "info":
        return _print_info(sorted(settings.log_dirs))
    from penstock.cli.kafka.storage_format import format_directories
    from penstock.storage.errors import StorageError

    try:
        format_directories(given, settings)
    except (OSError, StorageError) as error:
        raise CommandFailed(str(error)) from error
    return 0


def _print_random_uuid() -> int:
    from random import SystemRandom

    from penstock.storage.meta import new_id

    found = new_id(SystemRandom())
    while found.startswith("-"):  # a command would take it for an option
        found = new_id(SystemRandom())
    print(found)
    return 0


def _print_versions(release: str | None) -> int:
    from penstock.cli.kafka import feature_levels as levels

    name = levels.release_of(release or levels.LATEST_RELEASE)
    print(f"{levels.METADATA}={levels.RELEASES[name]} ({release or name})")
    for feature, level in levels.levels_of_release(name).items():
        print(f"{feature}={level}")
    return 0


def _print_dependencies(features: Sequence[str]) -> int:
    from penstock.cli.kafka import feature_levels as levels

    for name, level in map(levels.level_of, features):
        if name == levels.METADATA:
            if level not in levels.RELEASES.values():
                raise CommandFailed(f"Unknown metadata.version {level}")
            print(f"{name}={level} ({levels.level_text(name, level)}) has no dependencies.")
            continue
        if name not in levels.FEATURES:
            raise CommandFailed(f"Unknown feature: {name}")
        if not 0 <= level < len(levels.FEATURES[name]):
            raise CommandFailed(f"Feature level {level} is not supported for feature {name}")
        needed = levels.requirements(name, level)
        print(f"{name}={level} requires:" if needed else f"{name}={level} has no dependencies.")
        for other, least in needed.items():
            shown = f" ({levels.level_text(other, least)})" if other == levels.METADATA else ""
            print(f"    {other}={least}{shown}")
    return 0


def _print_info(directories: Sequence[str]) -> int:
    from penstock.storage.disk import OsDisk
    from penstock.storage.errors import StorageError
    from penstock.storage.meta import Meta, read_meta

    problems: list[str] = []
    found: list[str] = []
    first: Meta | None = None
    for directory in directories:
        if not os.path.isdir(directory):
            what = "is not a directory" if os.path.exists(directory) else "does not exist"
            problems.append(f"{directory} {what}")
            continue
        found.append(directory)
        try:
            meta = read_meta(OsDisk(), directory)
        except StorageError as error:
            problems.append(f"Error loading {directory}/meta.properties: {error}")
            continue
        if meta is None:
            problems.append(f"{directory} is not formatted.")
        elif first is None:
            first = meta
        elif first.cluster_id != meta.cluster_id:
            problems.append("Mismatched cluster IDs between storage directories.")
        elif first.node_id != meta.node_id:
            problems.append("Mismatched node IDs between storage directories.")
    _print_list("Found log director", found, ("y", "ies"))
    if first is not None:
        print(
            f"Found metadata: {{cluster.id={first.cluster_id}, directory.id={first.directory_id}, "
            f"node.id={first.node_id}, version=1}}\n"
        )
    _print_list("Found problem", problems, ("", "s"))
    return 1 if problems else 0


def _print_list(title: str, items: Sequence[str], endings: tuple[str, str]) -> None:
    if items:
        print(f"{title}{endings[len(items) > 1]}:")
        print("".join(f"  {item}\n" for item in items))


def _parser() -> ArgumentParser:
    """As in Kafka, a word `@file` stands for the words in that file: passwords need not be on the command
    line, where every user of the machine sees them."""
    parser = ArgumentParser(
        prog="kafka-storage", description="The Kafka storage tool.", fromfile_prefix_chars="@"
    )
    commands = parser.add_subparsers(dest="command", required=True, parser_class=ArgumentParser)
    info = commands.add_parser("info", help="Describe the log directories of this node.")
    form = commands.add_parser("format", help="Format the log directories of this node.")
    for command in (info, form):
        command.add_argument("--config", "-c", required=True, help="The file with the node's properties.")
    form.add_argument("--cluster-id", "-t", required=True, help="The cluster ID to use.")
    form.add_argument(
        "--add-scram",
        "-S",
        action="append",
        help="A first user, as 'SCRAM-SHA-256=[name=alice,password=alice-secret]' or "
        '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'.',
    )
    form.add_argument("--ignore-formatted", "-g", action="store_true", help="Skip formatted directories.")
    form.add_argument("--release-version", "-r", help="The release whose feature levels are used.")
    form.add_argument("--feature", "-f", action="append", help="The level of a feature, as feature=level.")
    quorum = form.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="This controller is the only one.")
    quorum.add_argument("--no-initial-controllers", "-N", action="store_true", help="Name no controllers.")
    quorum.add_argument("--initial-controllers", "-I", help="Controllers, as id@host:port:directory,…")
    versions = commands.add_parser("version-mapping", help="Print the feature levels of a release.")
    versions.add_argument("--release-version", "-r", help="The release.")
    needs = commands.add_parser("feature-dependencies", help="Print what levels of features need.")
    needs.add_argument("--feature", "-f", action="append", required=True, help="As feature=level.")
    commands.add_parser("random-uuid", help="Print a random UUID.")
    return parser


main = script(storage)
