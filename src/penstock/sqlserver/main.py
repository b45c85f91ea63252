"""The SQL server as a process: statements are restored, then requests are served until SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from penstock import __version__
from penstock.client.errors import ReplayFailed
from penstock.settings.listeners import format_address
from penstock.sqlserver.errors import error_body
from penstock.sqlserver.executing import execute
from penstock.sqlserver.headless import run_file
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.query_log import processing_log_statement
from penstock.sqlserver.routes import MEDIA_TYPES, routes
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.settings import ServerSettings
from penstock.sqlserver.web_socket import with_web_socket
from penstock.web import OPEN_DOOR, Door, Service, make_app
from penstock.web.application import App
from penstock.web.callers import permit_all
from penstock.web.serving import listening_socket
from penstock.web.serving_http2 import serve_http2_on

SUMMARY = "ksqlDB's REST API: streams and tables over topics, queries that run on Spark."


def sql_app(server: SqlServer, queries: ClientQueries, door: Door = OPEN_DOOR) -> App:
    if door.is_kept:
        server.guard()
    service = Service(
        "Penstock SQL",
        __version__,
        SUMMARY,
        MEDIA_TYPES,
        error_body=error_body,
        authenticate=door.authenticate,
        metrics=server.persistent.samples,
        authorize=permit_all if server.rights is None else server.rights.authorize,
    )
    table = routes(server, queries)
    return with_web_socket(make_app(service, table), service, table, server, queries)


def run(
    host: str,
    port: int,
    settings: ServerSettings,
    door: Door = OPEN_DOOR,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT. OSError when the address cannot be had, ReplayFailed when the command
    topic can be replayed no more, KsqlError when a statement of the queries file fails.
    """
    failures: list[ReplayFailed] = []

    def end(why: str) -> None:
        failures.append(ReplayFailed(f"The SQL server ends: {why}. Start it again."))
        os.kill(os.getpid(), signal.SIGTERM)

    with listening_socket(host, port) as listener:
        server = SqlServer(settings, _address(settings, listener), end)
        try:
            server.start()
            _create_log_stream(server)
            if settings.queries_file is not None:
                run_file(server, Path(settings.queries_file))
            queries = ClientQueries(server)
            app = sql_app(server, queries, door)
            serve_http2_on(app, listener, ready or door.print_ready, queries.close_all, door.certificates)
        finally:
            server.close()
    if failures:
        raise failures[0]


def _address(settings: ServerSettings, listener: socket.socket) -> str:
    """Where others find this server."""
    given = settings.values["ksql.advertised.listener"]
    if given:
        return urlsplit(given).netloc or given
    bound = listener.getsockname()
    return format_address(bound[0], bound[1])


def _create_log_stream(server: SqlServer) -> None:
    """A stream over the processing log, where the settings ask for one."""
    settings = server.settings
    if settings.flag("ksql.logging.processing.stream.auto.create") and server.processing_log.enabled:
        name = settings.values["ksql.logging.processing.stream.name"]
        execute(server, processing_log_statement(name, settings.processing_log_topic), {}, {})
