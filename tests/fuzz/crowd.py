"""A process of its own, so that it takes no time from the client that is measured: many connections that get
nowhere. Half are in a TLS handshake, half in a SASL exchange; each sends a byte now and then, and one that
the broker has closed is made anew. Ends with its input.

`python -m tests.fuzz.crowd HOST PORT AUTHORITY SIZE` prints `standing` when all are there, and at its end
how many it has opened.
"""

from __future__ import annotations

import resource
import socket
import ssl
import struct
import sys
import threading
from collections import deque
from typing import Final

from penstock.protocol.apis import Api
from tests.server.wire_bytes import ask

SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.002
HELLO: Final = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # how a ClientHello begins
SLOW_FRAME: Final = struct.pack(">ihhih", 1000, Api.SASL_AUTHENTICATE, 1, 1, -1)


class Crowd:
    def __init__(self, address: tuple[str, int], context: ssl.SSLContext, size: int) -> None:
        self._address, self._context, self._size = address, context, size
        self._held: deque[tuple[socket.socket, bytes]] = deque()
        self.opened = 0

    def stand(self) -> None:
        while len(self._held) < self._size:
            self._held.append(self._open())

    def drip(self) -> None:
        """The one that has rested longest sends its next byte."""
        sock, left = self._held.popleft()
        try:
            sock.sendall(left[:1])
        except OSError:
            sock.close()
        else:
            self._held.append((sock, left[1:] or b"\x00"))

    def _open(self) -> tuple[socket.socket, bytes]:
        self.opened += 1
        plain = socket.create_connection(self._address, SECONDS)
        if self.opened % 2:
            return plain, HELLO
        sock = self._context.wrap_socket(plain, server_hostname="localhost")
        ask(sock, Api.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-512")
        return sock, SLOW_FRAME


def main(host: str, port: str, authority: str, size: str) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Crowd((host, int(port)), ssl.create_default_context(cafile=authority), int(size))
    crowd.stand()
    print("standing", flush=True)
    ending = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ending.set()), daemon=True).start()
    while not ending.wait(PAUSE_SECONDS):
        crowd.drip()
        crowd.stand()
    print(crowd.opened, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
