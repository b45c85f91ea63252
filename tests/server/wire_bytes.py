"""Requests and answers as bytes on a raw socket."""

from __future__ import annotations

import socket
import struct
from typing import Any

from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.messages import encode_request, read_response
from penstock.testing import Broker
from tests.handlers.one_node import request_frame


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def connect(broker: Broker) -> socket.socket:
    host, port = broker.bootstrap_servers.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=10)


def receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (chunk := sock.recv(size - len(data))):
        data += chunk
    if len(data) < size:
        raise ConnectionError("closed")
    return data


def ask(sock: socket.socket, api: Api, version: int, **fields: Any) -> Any:
    sock.sendall(framed(request_frame(api, version, encode_request(api, version, fields))))
    (size,) = struct.unpack(">i", receive(sock, 4))
    head = 4 if api is Api.API_VERSIONS or not is_flexible(api, version) else 5
    return read_response(api, version, receive(sock, size)[head:])


def is_served(sock: socket.socket) -> bool:
    try:
        return ask(sock, Api.API_VERSIONS, 0).error_code == 0
    except (ConnectionError, TimeoutError):
        return False
