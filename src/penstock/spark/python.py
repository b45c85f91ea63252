"""The Python that runs Spark's workers on this machine.

Spark puts its archive of PySpark first on their path, and Python compiles each module of an archive again in
each process. That costs a second of CPU, several times for every query that starts. A small `python` script
of ours starts the real one without the archive, so that workers use the PySpark of this process.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from penstock.spark.scripts import cache_dir, write_script

NAME: Final = "PYSPARK_PYTHON"
_SCRIPT: Final = """#!/bin/sh
# What Spark puts first on the path is compiled anew by each process; the same is installed.
set -f
IFS=:
rest=
for entry in $PYTHONPATH; do
  case "$entry" in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) rest="$rest${{rest:+:}}$entry" ;;
  esac
done
unset IFS
export PYTHONPATH="$rest"
exec {python} "$@"
"""


def settle(master: str, executable: str, environ: MutableMapping[str, str]) -> None:
    """Say which Python the workers run, unless the user has. What an earlier session said does not count."""
    given = environ.get(NAME, executable)
    if given == executable or Path(given).is_relative_to(cache_dir(environ)):
        environ[NAME] = worker_python(master, executable, environ)


def worker_python(master: str, executable: str, environ: Mapping[str, str]) -> str:
    """What to give Spark as its Python. Other machines know only what is installed there, and a Spark from
    elsewhere (`SPARK_HOME`) has a PySpark of its own: they take the interpreter itself."""
    if not master.startswith("local") or environ.get("SPARK_HOME") or os.name != "posix":
        return executable
    text = _SCRIPT.format(python=shlex.quote(executable))
    name = "python-" + hashlib.sha256(text.encode()).hexdigest()[:12]
    path: Path = cache_dir(environ) / name / "python"
    try:
        write_script(path, text)
    except OSError:  # a home that cannot be written to
        return executable
    return str(path) if os.access(path, os.X_OK) else executable  # a cache may be mounted without execution
