"""The site of docs/ builds without network, and its pages from the code are current."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from penstock.cli.main import COMMANDS
from penstock.handlers.table import HANDLERS
from tests.house.sources import ROOT


def references() -> ModuleType:
    spec = importlib.util.spec_from_file_location("references", ROOT / "docs" / "references.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_from_the_code_have_every_command_and_every_request() -> None:
    pages = {name: page() for name, page in references().PAGES.items()}
    assert set(pages) <= {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages["metrics.md"] == (ROOT / "docs" / "metrics.md").read_text()
    for name in COMMANDS:
        assert f"## penstock {name}\n" in pages["cli.md"]
    assert pages["protocol.md"].count("\n| ") == len(HANDLERS) + 1


@pytest.mark.timeout(300)
def test_the_site_is_built_and_asks_nothing_of_the_network(tmp_path: Path) -> None:
    """Whatever the network would bring is refused: there is no proxy at this address."""
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("index", "tutorial", "concepts", "howto", "operations", "cli", "protocol", "faq"):
        page = (tmp_path / "site" / f"{name}.html").read_text()
        sources = re.findall(r'(?:src|<link[^>]*href)="(https?:[^"]+)"', page)
        assert not sources, (name, sources)
