"""The page that Prometheus reads from a broker: `GET /metrics` on `metrics.listener`; `/health` and `/ready`.

One thread serves one request at a time: scrapes come every few seconds, and clients of the broker go first.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Final

from penstock.metrics.text import CONTENT_TYPE, Sample, render

PATH: Final = "/metrics"
HEALTH: Final = "/health"
"""The process runs."""
READY: Final = "/ready"
"""Clients are served: the broker belongs to its cluster and is not fenced."""
JSON: Final = "application/json"
REQUEST_SECONDS: Final = 10
"""A client that has not sent its request, or taken its answer, by then is disconnected."""

_log = logging.getLogger(__name__)


class MetricsEndpoint:
    """Bound when it is made; serves from `start` to `close`."""

    def __init__(
        self,
        host: str,
        port: int,
        samples: Callable[[], Iterable[Sample]],
        is_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_ready` says whether clients are served now."""
        self._server = _Server((host, port), samples, is_ready)
        self.address: tuple[str, int] = self._server.server_address[:2]  # type: ignore[assignment]
        """Host and port as bound; port 0 has picked a free one."""
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(HTTPServer):
    def __init__(
        self,
        address: tuple[str, int],
        samples: Callable[[], Iterable[Sample]],
        is_ready: Callable[[], bool],
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.samples = samples
        self.is_ready = is_ready
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """As the parent's, but without asking the name service for this machine's name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: object, client_address: object) -> None:
        _log.debug("a scrape from %s failed", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_SECONDS
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == HEALTH:
            self._answer(200, JSON, b'{"status":"UP"}')
        elif path == READY:
            ready = self.server.is_ready()
            self._answer(
                200 if ready else 503, JSON, b'{"status":"%s"}' % (b"READY" if ready else b"STARTING")
            )
        elif path == PATH:
            self._metrics()
        else:
            self.send_error(404, f"There are {PATH}, {HEALTH} and {READY}")

    def _metrics(self) -> None:
        try:
            body = render(self.server.samples()).encode()
        except Exception:
            _log.exception("metrics could not be read")
            self.send_error(500, "Metrics could not be read; the broker's log says why")
            return
        self._answer(200, CONTENT_TYPE, body)

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "penstock"

    def log_message(self, *args: object) -> None:
        """The parent writes a line for each request to standard error."""
