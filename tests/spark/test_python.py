"""Which Python Spark's workers get."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from penstock.spark import python

PROGRAM = "import os, sys; print(os.environ['PYTHONPATH'], sys.prefix, *sys.argv[1:], sep='|')"


def test_it_is_this_interpreter_without_sparks_archives_on_its_path(tmp_path: Path) -> None:
    chosen = python.worker_python("local[2]", sys.executable, {"XDG_CACHE_HOME": str(tmp_path)})
    lib = "/spark/python/lib"
    path = f"{lib}/pyspark.zip:{lib}/py4j-0.10.9.9-src.zip:/spark/jars/a b.jar:/home/*"
    said = subprocess.run(
        [chosen, "-c", PROGRAM, "an argument", "*"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert said.stdout.strip() == f"/spark/jars/a b.jar:/home/*|{sys.prefix}|an argument|*"


def test_other_machines_and_another_spark_take_the_interpreter_itself(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    assert python.worker_python("spark://host:7077", "/bin/python", environ) == "/bin/python"
    elsewhere = {**environ, "SPARK_HOME": "/opt/spark"}
    assert python.worker_python("local[*]", "/bin/python", elsewhere) == "/bin/python"
    assert not list(tmp_path.iterdir())


def test_what_the_user_says_stays_and_what_an_earlier_session_said_does_not(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), python.NAME: "/opt/python"}
    python.settle("local[*]", "/bin/python", environ)
    assert environ[python.NAME] == "/opt/python"
    del environ[python.NAME]
    python.settle("local[*]", "/bin/python", environ)
    assert environ[python.NAME].startswith(str(tmp_path))
    python.settle("spark://host:7077", "/bin/python", environ)
    assert environ[python.NAME] == "/bin/python"
