"""The wheel: it has every file that the package needs, and the platform starts from it alone.

It is built without a compiler, as on a machine that has none, so the pure twins of native modules run. What
the package needs of others comes from the environment of the tests: installing that again would test pip.
"""

from __future__ import annotations

import os
import shutil
import signal
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, ROOT, tracked_files

DEADLINE_S = 100
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
NATIVE = {".pyx", ".pxd", ".pxi"}
SERVICES = ("broker", "registry", "rest", "connect", "sql", "console")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for path in tracked_files():
        name = path.relative_to(ROOT)
        if name.parts[0] in {"src", "examples", "pyproject.toml", "setup.py", "README.md", "LICENSE"}:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tree / name)
    _run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        "dist",
        ".",
        cwd=tree,
    )
    (found,) = (tree / "dist").glob("penstock-*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that has the wheel."""
    place = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", "--without-pip", str(place))
    python = place / "bin" / "python"
    _run(*PIP, "--python", str(python), "install", "-q", "--no-deps", str(wheel))
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "what-penstock-needs.pth").write_text("\n".join(site.getsitepackages()))
    return place / "bin"


def test_it_has_every_file_of_the_package_and_the_examples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"penstock/{path.relative_to(PACKAGE).as_posix()}"
        for path in tracked_files()
        if path.is_relative_to(PACKAGE) and path.suffix not in NATIVE
    }
    examples = ROOT / "examples"
    wanted |= {
        f"penstock/_examples/{path.relative_to(examples).as_posix()}"
        for path in tracked_files()
        if path.is_relative_to(examples)
    }
    assert sorted(wanted - names) == []


@pytest.mark.timeout(2 * DEADLINE_S)
def test_the_platform_starts_from_it(programs: Path, tmp_path: Path) -> None:
    origin = "import penstock, sys; sys.exit(penstock.__file__.startswith(sys.prefix) is False)"
    _run(str(programs / "python"), "-c", origin, cwd=tmp_path)
    ports = [word for name in SERVICES for word in (_listen(name), "127.0.0.1:0")]
    process = subprocess.Popen(
        [str(programs / "penstock"), "up", "--data", "data", *ports],
        cwd=tmp_path,
        env=_environment(),
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        assert process.stdout is not None
        up = [process.stdout.readline().split()[:3] for _ in SERVICES]
        assert up == [[name, "is", "[UP]"] for name in SERVICES]
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()
    assert process.returncode == 0


def test_its_examples_are_found(programs: Path, tmp_path: Path) -> None:
    listed = _run(str(programs / "penstock"), "example", cwd=tmp_path)
    assert "word_count" in listed
    assert "fraud" in listed


def _listen(service: str) -> str:
    return "--listen" if service == "broker" else f"--{service}-listen"


def _environment() -> dict[str, str]:
    """Without a compiler, and without the folder from which the tests import."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "CC": "false", "CXX": "false"}


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
