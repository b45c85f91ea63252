"""The page about settings says what the tables say."""

from __future__ import annotations

from pathlib import Path

from penstock.settings.document import render

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_what_the_tables_say() -> None:
    renew = "renew it: .venv/bin/python -m penstock.settings.document > docs/settings.md"
    assert PAGE.read_text() == render(), renew
