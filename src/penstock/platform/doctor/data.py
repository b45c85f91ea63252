"""A data folder: who may write it, how full its disk is, which version wrote it, whether time went back."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from penstock.platform.doctor.findings import Finding, ok, problem, warning

FREE_BYTES: Final = 1024**3
FREE_SHARE: Final = 0.05
FUTURE_S: Final = 60.0
FILES_LOOKED_AT: Final = 5_000
META_VERSION: Final = "1"


def check_data(folder: Path, *, now: float | None = None) -> list[Finding]:
    """Everything about the folder, or what its first broken thing is: the rest would only repeat it."""
    first = _permissions(folder)
    if first.fix:
        return [first]
    moment = time.time() if now is None else now
    return [first, check_disk(folder), check_version(folder), check_times(folder, moment)]


def _permissions(folder: Path) -> Finding:
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        return problem("data", f"{there} is a file, not a folder.", "Name another folder with --data.")
    foreign = [path for path in (there, *_children(there)) if not os.access(path, os.R_OK | os.W_OK)]
    if not foreign:
        try:
            with tempfile.TemporaryFile(dir=there):
                return ok("data", f"{folder} can be written.")
        except OSError as error:
            foreign = [there]
            reason = error.strerror or str(error)
    else:
        reason = "permission denied"
    return problem(
        "data",
        f"{foreign[0]} cannot be written by {_me()}: {reason}. Its owner is user {foreign[0].stat().st_uid}.",
        f"chown -R {_me()} {there}, or name another folder with --data.",
    )


def _children(folder: Path) -> Iterator[Path]:
    """The folder's own files, and those of log directories below it, as far as a look is worth its time."""
    for number, path in enumerate(folder.rglob("*")):
        if number >= FILES_LOOKED_AT:
            return
        yield path


def _me() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def check_disk(folder: Path, usage: Any = shutil.disk_usage) -> Finding:
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    found = usage(there)
    free, share = found.free, found.free / max(1, found.total)
    text = f"{free / 1024**3:.1f} GB ({share:.0%}) of the disk of {folder} are free"
    if free < FREE_BYTES:
        return problem(
            "disk",
            f"{text}. A broker stops taking records when its disk is full.",
            "Free some, put --data on another disk, or keep less: penstock config set topic:NAME "
            "retention.bytes=…",
        )
    if share < FREE_SHARE:
        return warning("disk", f"{text}.", "Watch it: penstock topic list shows what the topics have.")
    return ok("disk", f"{text}.")


def check_version(folder: Path) -> Finding:
    """Whether the files were written by a version that this one can read."""
    for path in (folder / "meta.properties", folder / "broker" / "meta.properties"):
        if not path.is_file():
            continue
        lines = path.read_text(errors="replace").splitlines()
        pairs = dict(line.partition("=")[::2] for line in lines if not line.startswith("#"))
        version = pairs.get("version", "none")
        if version != META_VERSION or not pairs.get("cluster.id"):
            return problem(
                "version",
                f"{path} has version {version} of Kafka's format; this Penstock reads {META_VERSION}.",
                "Start the version that wrote it, or another data folder: penstock up --data DIR. To begin "
                f"anew, move {folder} away.",
            )
        return ok("version", f"{folder} belongs to node {pairs.get('node.id')} of {pairs['cluster.id']}.")
    return ok("version", f"{folder} is new.")


def check_times(folder: Path, now: float) -> Finding:
    """A file from the future: the clock was ahead when it was written, or is behind now."""
    newest = max((path.stat().st_mtime for path in _children(folder) if path.is_file()), default=0.0)
    if newest - now > FUTURE_S:
        return problem(
            "clock",
            f"{folder} has a file from {newest - now:.0f} s in the future, so this machine's clock is wrong "
            "or was wrong. Retention and windows go by it.",
            "Set the clock: timedatectl set-ntp true.",
        )
    return ok("clock", "No file of the data is from the future.")
