"""Kafka's features: which release has which level of each, and what a level needs."""

from __future__ import annotations

from typing import Final

from penstock.cli.kafka.options import CommandFailed

METADATA: Final = "metadata.version"
_NAMES: Final = (
    "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
    "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0",
    "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
)  # fmt: skip
RELEASES: Final = dict(zip(_NAMES, range(7, 7 + len(_NAMES)), strict=True))
"""The level of `metadata.version` in each release of the metadata."""

LATEST_RELEASE: Final = "4.2-IV1"
FEATURES: Final = {
    "kraft.version": ("3.3-IV3", "3.9-IV0"),
    "transaction.version": ("3.3-IV3", "4.0-IV2", "4.0-IV2"),
    "group.version": ("3.3-IV3", "4.0-IV0"),
    "eligible.leader.replicas.version": ("3.3-IV3", "4.1-IV0"),
    "share.version": ("3.3-IV3", "4.2-IV0"),
    "streams.version": ("3.3-IV3", "4.2-IV1"),
}
"""For each level of a feature, from 0 on, the release that has it by default."""

_REQUIREMENTS: Final = {("eligible.leader.replicas.version", 1): {METADATA: 23}}


def release_of(name: str) -> str:
    """The whole name of a release: `3.9` stands for the last of 3.9."""
    found = next((each for each in reversed(_NAMES) if name in (each, each.partition("-")[0])), None)
    if found is None:
        raise CommandFailed(
            f"Unknown metadata.version '{name}'. Supported metadata.version are: {', '.join(_NAMES)}"
        )
    return found


def levels_of_release(name: str) -> dict[str, int]:
    """The level of each feature but `metadata.version` in a release."""
    at = RELEASES[release_of(name)]
    return {
        feature: max(level for level, since in enumerate(releases) if RELEASES[since] <= at)
        for feature, releases in FEATURES.items()
    }


def level_text(feature: str, level: int) -> str:
    """A level as Kafka shows it: the metadata's by the name of its release."""
    if feature != METADATA:
        return str(level)
    return next((name for name, each in RELEASES.items() if each == level), f"UNKNOWN {level}")


def level_of(text: str) -> tuple[str, int]:
    """A feature and its level, from `name=level`."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise CommandFailed(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = 1 << 15
    if not -(1 << 15) <= number < 1 << 15:
        raise CommandFailed(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number


def requirements(feature: str, level: int) -> dict[str, int]:
    """The features that a level needs, with their levels."""
    return _REQUIREMENTS.get((feature, level), {})
