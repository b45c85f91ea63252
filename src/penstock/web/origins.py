"""Pages of other sites: a browser sends what they ask for, with the login that it remembers, and to services
on its own machine that ask nobody. It names the page's origin. Programs that are not browsers name none."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from penstock.web.errors import HttpError
from penstock.web.negotiation import header

SAFE: Final = ("GET", "HEAD", "OPTIONS")
"""What changes nothing. Browsers do not show the answers to pages of other sites."""
OTHER_SITE: Final = 40302


def check_origin(request: Request) -> None:
    """HttpError 403 for a request of a page that is not of this very host."""
    origin = header(request, b"origin")
    if origin and urlsplit(origin).netloc.lower() != header(request, b"host").lower():
        raise HttpError(403, f"A page of {origin[:200]} may not use this service.", OTHER_SITE)
