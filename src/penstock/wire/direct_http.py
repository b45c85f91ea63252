"""HTTP requests that go where they are sent, and nowhere else. A redirect is an HTTPError with its status:
the credentials of a request would go with it to any address that an answer names.

Called by everything that sends credentials over HTTP with the standard library. Blocking."""

from __future__ import annotations

import ssl
import urllib.request
from typing import IO, Any


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


def direct_opener(context: ssl.SSLContext | None = None) -> urllib.request.OpenerDirector:
    """`context` is how to speak to `https:`; None trusts whom the system trusts."""
    handlers: list[urllib.request.BaseHandler] = [NoRedirects()]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def open_direct(
    request: urllib.request.Request, timeout_s: float, context: ssl.SSLContext | None = None
) -> Any:
    """The answer, to be used in a `with` statement; the errors of `urllib.request.urlopen`."""
    return direct_opener(context).open(request, timeout=timeout_s)
