"""The console's look: CSS and a small script, served from here. No rule depends on a class that NiceGUI
generates.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent
STYLES = ("tokens.css", "icons.css", "shell.css", "controls.css", "tables.css", "pages.css")
SCRIPTS = ("theme.js", "format.js")


def head_html() -> str:
    """Links for the head of every page.

    The version changes with the content, so that browsers may cache for ever.
    """
    links = [f'<link rel="stylesheet" href="/assets/{name}?v={_version(name)}">' for name in STYLES]
    scripts = [f'<script src="/assets/{name}?v={_version(name)}"></script>' for name in SCRIPTS]
    return "\n".join([*scripts, *links])


def _version(name: str) -> str:
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]
