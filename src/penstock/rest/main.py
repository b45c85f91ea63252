"""`run`: one REST Proxy in one process, until it is told to stop. Called by `penstock rest`."""

from __future__ import annotations

from penstock import __version__
from penstock.rest.config import BODY_BYTES_MAX, RestSettings
from penstock.rest.forwarding import Forwarding
from penstock.rest.proxy import Proxy
from penstock.rest.v2.routes import v2_routes
from penstock.rest.v3.routes import v3_routes
from penstock.web import OPEN_DOOR, Authenticate, Door, Service, allow_all, make_app, serve
from penstock.web.application import App
from penstock.web.workers import Worker

SUMMARY = "Kafka over HTTP: Confluent's REST Proxy API, versions 2 and 3."


def rest_app(
    bootstrap_servers: str,
    settings: RestSettings,
    authenticate: Authenticate = allow_all,
    *,
    asks_callers: bool = False,
) -> App:
    """The application; it connects when it is started. With `asks_callers` it acts for its callers."""
    proxy = Proxy(bootstrap_servers, settings, asks_callers=asks_callers)
    service = Service(
        "Penstock REST Proxy",
        __version__,
        SUMMARY,
        body_bytes_max=BODY_BYTES_MAX,
        authenticate=authenticate,
        lifespan=proxy.running,
    )
    return make_app(service, (*v2_routes(proxy), *v3_routes(proxy)))


def run(
    host: str,
    port: int,
    bootstrap_servers: str,
    settings: RestSettings,
    door: Door = OPEN_DOOR,
    worker: Worker | None = None,
) -> None:
    """Returns after SIGTERM; OSError when the address cannot be had."""
    app = rest_app(bootstrap_servers, settings, door.authenticate, asks_callers=door.is_kept)
    if worker is not None:
        app = Forwarding(app, worker, settings.id, tls=door.certificates is not None)
    serve(app, host, port, door.print_ready, door.certificates, worker)
