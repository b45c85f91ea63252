"""Small programs of our own in the user's cache, which run before a program that is not ours."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "")) / ".cache") / "penstock"


def write_script(path: Path, text: str) -> None:
    """Have this script there, whole or not at all: another process may be starting too."""
    if path.is_file() and path.read_text() == text and os.access(path, os.X_OK):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as draft:
        draft.write(text)
    os.chmod(draft.name, 0o755)
    os.replace(draft.name, path)
