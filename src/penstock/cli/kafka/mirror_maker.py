"""`connect-mirror-maker mm2.properties [--clusters ALIAS …]`: runs a mirror, as `penstock mirror` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

USAGE: Final = "usage: connect-mirror-maker [-h] [--clusters CLUSTER [CLUSTER ...]] mm2.properties"


def mirror_maker(words: Sequence[str]) -> int:
    if not words or words[0] in ("--help", "-h"):
        raise CommandFailed(USAGE)
    if words[0] == "-daemon":
        raise CommandFailed(
            "-daemon is not supported: start it in the background with a service manager or &"
        )
    path, clusters = _read(words)
    from penstock.cli.main import run

    options = [word for alias in clusters for word in ("--clusters", alias)]
    return run(["mirror", "--config", path, *options])


def _read(words: Sequence[str]) -> tuple[str, list[str]]:
    """The file, and the clusters: any number of words behind `--clusters`, as Kafka reads them."""
    before = list(words[: words.index("--clusters")]) if "--clusters" in words else list(words)
    clusters = list(words[len(before) + 1 :])
    if not before and clusters:  # the file stands behind the clusters
        before, clusters = clusters[-1:], clusters[:-1]
    if len(before) != 1 or before[0].startswith("-"):
        raise CommandFailed(f"{USAGE}\nconnect-mirror-maker: error: one file of properties is needed")
    return before[0], clusters


main = script(mirror_maker)
