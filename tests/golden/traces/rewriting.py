"""`--rewrite` writes the golden traces anew, for a reader to judge the difference in git."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="write the golden traces anew instead of comparing"
    )
