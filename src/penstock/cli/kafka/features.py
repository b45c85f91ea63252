"""`kafka-features`: the features of a cluster and the levels in force, raised and lowered."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.arguments import ArgumentParser, add_connection, asker_of
from penstock.cli.kafka.asking import Asker, check, refusal
from penstock.cli.kafka.feature_levels import (
    FEATURES,
    LATEST_RELEASE,
    METADATA,
    RELEASES,
    level_of,
    level_text,
    levels_of_release,
    release_of,
    requirements,
)
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


def features(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.command == "version-mapping":
        _print_mapping(given.release_version)
    elif given.command == "feature-dependencies":
        _print_requirements(given.feature)
    elif given.command == "describe":
        _describe(asker_of(given))
    else:
        _update(asker_of(given), given)
    return 0


def _describe(asker: Asker) -> None:
    from penstock.protocol.apis import Api

    fields = {"client_software_name": "penstock", "client_software_version": "1"}
    answer = asker.any(Api.API_VERSIONS, fields, (3, 4))
    check(answer)
    finalized = {one.name: one.max_version_level for one in answer.finalized_features}
    epoch = answer.finalized_features_epoch
    for one in sorted(answer.supported_features, key=lambda feature: str(feature.name)):
        parts = {
            "Feature": one.name,
            "SupportedMinVersion": level_text(one.name, one.min_version),
            "SupportedMaxVersion": level_text(one.name, one.max_version),
            "FinalizedVersionLevel": level_text(one.name, finalized.get(one.name, 0)),
            "Epoch": "-" if epoch < 0 else epoch,
        }
        print("\t".join(f"{name}: {value}" for name, value in parts.items()))


def _print_mapping(release: str | None) -> None:
    name = LATEST_RELEASE if release is None else release
    print(f"{METADATA}={RELEASES[release_of(name)]} ({name})")
    for feature, level in levels_of_release(name).items():
        print(f"{feature}={level}")


def _print_requirements(wanted: Sequence[str]) -> None:
    for text in wanted:
        name, level = level_of(text)
        if name != METADATA and name not in FEATURES:
            raise CommandFailed(f"Unknown feature: {name}")
        known = RELEASES.values() if name == METADATA else range(len(FEATURES[name]))
        if level not in known:
            raise CommandFailed(f"No feature:{name} with feature level {level}")
        shown = f"{name}={level}" + (f" ({level_text(name, level)})" if name == METADATA else "")
        needed = requirements(name, level)
        print(f"{shown} {'requires:' if needed else 'has no dependencies.'}")
        for other, other_level in needed.items():
            print(f"    {other}={other_level} ({level_text(other, other_level)})")


def _update(asker: Asker, given: argparse.Namespace) -> None:
    from penstock.protocol.apis import Api

    levels = _wanted(given)
    if not levels:
        raise CommandFailed(f"You must specify at least one feature to {given.command}")
    kind = UPGRADE
    if given.command != "upgrade":
        kind = UNSAFE_DOWNGRADE if given.unsafe else SAFE_DOWNGRADE
    updates = [
        {"feature": name, "max_version_level": level, "upgrade_type": kind} for name, level in levels.items()
    ]
    fields = {"timeout": 60_000, "feature_updates": updates, "validate_only": given.dry_run}
    answer = asker.any(Api.UPDATE_FEATURES, fields, (1, 2))
    whole = refusal(answer)
    errors = {one.feature: refusal(one) for one in getattr(answer, "results", ())}
    failed = 0
    for name, level in sorted(levels.items()):
        error = whole or errors.get(name)
        failed += error is not None
        print(_outcome(given, name, level, error))
    if failed:
        raise CommandFailed(f"{failed} out of {len(levels)} operation(s) failed.")


def _outcome(given: argparse.Namespace, name: str, level: int, error: Exception | None) -> str:
    disables = given.command == "disable"
    if error is not None:
        what = f"disable {name}" if disables else f"{given.command} {name} to {level}"
        return f"{'Can not' if given.dry_run else 'Could not'} {what}. {error}"
    done = "disabled." if disables else f"{given.command}d to {level}."
    return f"{name} {'can be' if given.dry_run else 'was'} {done}"


def _wanted(given: argparse.Namespace) -> dict[str, int]:
    """The level that each named feature is to have."""
    if given.command == "disable":
        return _once((name, 0) for name in given.feature or ())
    if given.release_version is not None and (given.metadata or given.feature):
        raise CommandFailed("Can not specify `release-version` with other feature flags.")
    if given.release_version is not None:
        levels = {METADATA: RELEASES[release_of(given.release_version)]}
        return levels | {
            name: level
            for name, level in levels_of_release(given.release_version).items()
            if given.command != "upgrade" or level > 0
        }
    levels = {}
    if given.metadata is not None:
        print(" `metadata` flag is deprecated and may be removed in a future release.")
        levels = {METADATA: RELEASES[release_of(given.metadata)]}
    return _once([*levels.items(), *(level_of(text) for text in given.feature or ())])


def _once(pairs: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, level in pairs:
        if name in found:
            raise CommandFailed(f"Feature {name} was specified more than once.")
        found[name] = level
    return found


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="kafka-features", description="This tool manages feature flags in Kafka.")
    add_connection(parser)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("describe", help="Describes the current active feature flags.")
    for name, text in (("upgrade", "Upgrade"), ("downgrade", "Downgrade")):
        command = commands.add_parser(name, help=f"{text} one or more feature flags.")
        command.add_argument("--metadata", help="DEPRECATED: the metadata version, such as 4.0-IV3.")
        command.add_argument("--release-version", help="The release whose levels all features get.")
        command.add_argument("--feature", action="append", help="A feature and its level, as name=level.")
        command.add_argument("--dry-run", action="store_true", help="Validate, but do not perform it.")
        if name == "downgrade":
            command.add_argument("--unsafe", action="store_true", help="Even if metadata may be lost.")
    disable = commands.add_parser("disable", help="Disable one or more feature flags: level 0.")
    disable.add_argument("--feature", action="append", help="A feature flag to disable.")
    disable.add_argument("--unsafe", action="store_true", help="Even if metadata may be lost.")
    disable.add_argument("--dry-run", action="store_true", help="Validate, but do not perform it.")
    mapping = commands.add_parser("version-mapping", help="The levels of features in a release.")
    mapping.add_argument("--release-version", help=f"The release; {LATEST_RELEASE} when it is not given.")
    needs = commands.add_parser("feature-dependencies", help="What a level of a feature needs.")
    needs.add_argument("--feature", action="append", required=True, help="As name=level.")
    return parser


main = script(features)
