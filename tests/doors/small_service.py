"""A service of one route behind a door, as a process: `python small_service.py FILE [http2]`. It answers with
the name of its caller."""

from __future__ import annotations

import sys
from typing import Any

from penstock.security.access import Open
from penstock.settings.sources import read_properties
from penstock.web import Call, Door, Route, Service, make_app, serve, take_door_settings
from penstock.web.serving import listening_socket
from penstock.web.serving_http2 import serve_http2_on
from penstock.web.tls import HTTP_2


async def who(call: Call) -> Any:
    return {"principal": str(call.principal), "roles": sorted(call.caller.roles)}


ROUTES = (
    Route("GET", "/who", who, "The caller.", returns=dict[str, Any], access=Open("for tests")),
    Route("GET", "/open/{name}", who, "The caller.", returns=dict[str, Any], access=Open("for tests")),
)


def main() -> None:
    kept, _ = take_door_settings(read_properties(sys.argv[1]))
    assert kept.listen is not None
    is_http2 = len(sys.argv) > 2
    door = Door(kept, alpn=HTTP_2) if is_http2 else Door(kept)
    app = make_app(Service("Small", "1", "For tests.", authenticate=door.authenticate), ROUTES)
    if is_http2:
        with listening_socket(*kept.listen) as listener:
            serve_http2_on(app, listener, door.print_ready, certificates=door.certificates)
    else:
        serve(app, *kept.listen, door.print_ready, door.certificates)


if __name__ == "__main__":
    main()
