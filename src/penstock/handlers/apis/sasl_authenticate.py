"""SaslAuthenticate, v0-v2, where SASL is not expected: on a listener without it. Where it is, the session
answers (`server/connections/sasl.py`), because a handler cannot change its session."""

from __future__ import annotations

from typing import Final

from penstock.handlers.parts import Permits
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Open

VERSIONS: Final = (0, 2)
ACCESS: Final = Open("it is how a client authenticates")


def handle(request: Request, broker: Permits) -> Reply:
    read_request(Api.SASL_AUTHENTICATE, request.version, request.reader)
    fields = {
        "error_code": ErrorCode.ILLEGAL_SASL_STATE,
        "error_message": "SaslAuthenticate request received after successful authentication",
        "auth_bytes": b"",
        "session_lifetime": 0,
    }
    return Reply([encode_response(Api.SASL_AUTHENTICATE, request.version, fields)])
