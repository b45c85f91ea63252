"""The project's own files, as the tests of style read them."""

from __future__ import annotations

import ast
import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "penstock"

_BUILT = {".git", ".venv", ".data", ".cache", "build", "dist", "__pycache__", ".hypothesis"}


@cache
def tracked_files() -> list[Path]:
    """Every file that git tracks; without git (an unpacked archive), every file that was not built here."""
    # The checkout may belong to another user than the one who tests it.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return sorted(_walk())
    return sorted(path for name in listing.split("\0") if name and (path := ROOT / name).is_file())


def python_files(*roots: Path) -> list[Path]:
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and any(path.is_relative_to(root) for root in roots)
    ]


def documents() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".md"]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def shown(path: Path, line: int | None = None) -> str:
    """A path as a person would click it."""
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def _walk() -> list[Path]:
    found: list[Path] = []
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name not in _BUILT and not name.endswith(".egg-info")]
        found += [Path(folder, name) for name in names]
    return found
