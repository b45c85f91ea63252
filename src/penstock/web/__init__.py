"""The shell of the HTTP services: a table of routes becomes an ASGI application and its OpenAPI document.

    Route(…), …          what a path takes, gives and may refuse            routes
    make_app(routes, …)  routing, authentication, bodies, errors            application
    Door                 HTTPS, and who the caller is                       door
    HttpError            status, error_code and message of a refusal        errors
    serve(app, …)        a process: `ready HOST:PORT`, then until SIGTERM   serving

No service lives here. Of Kafka it knows one thing: that the broker can say whether a caller is who it claims
to be. Called by `registry`, `rest`, `sqlserver`, `connect` and `console`.
"""

from penstock.web.application import Service, make_app
from penstock.web.callers import Authenticate, Authorize, Caller, allow_all
from penstock.web.door import OPEN_DOOR, Door
from penstock.web.door_settings import DoorSettings, take_door_settings
from penstock.web.errors import HttpError
from penstock.web.negotiation import MediaTypes
from penstock.web.routes import Answer, Call, Problem, Query, Route
from penstock.web.serving import serve

__all__ = [
    "OPEN_DOOR",
    "Answer",
    "Authenticate",
    "Authorize",
    "Call",
    "Caller",
    "Door",
    "DoorSettings",
    "HttpError",
    "MediaTypes",
    "Problem",
    "Query",
    "Route",
    "Service",
    "allow_all",
    "make_app",
    "serve",
    "take_door_settings",
]
