"""The shell of the HTTP services: a table of routes becomes an ASGI application and its OpenAPI document.

    Route(…), …          what a path takes, gives and may refuse            routes
    make_app(routes, …)  routing, authentication, bodies, errors            application
    HttpError            status, error_code and message of a refusal        errors
    serve(app, …)        a process: `ready HOST:PORT`, then until SIGTERM   serving

No service lives here and nothing here knows Kafka. Called by `registry`, `rest` and `console`.
"""

from penstock.web.application import Service, make_app
from penstock.web.errors import HttpError
from penstock.web.negotiation import MediaTypes
from penstock.web.principals import Authenticate, allow_all
from penstock.web.routes import Answer, Call, Problem, Query, Route
from penstock.web.serving import serve

__all__ = [
    "Answer",
    "Authenticate",
    "Call",
    "HttpError",
    "MediaTypes",
    "Problem",
    "Query",
    "Route",
    "Service",
    "allow_all",
    "make_app",
    "serve",
]
