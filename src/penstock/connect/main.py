"""A worker as a process: distributed, with others of its group; or standalone, with connectors from files."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from penstock import __version__
from penstock.client.acl_checking import authorizer_of
from penstock.connect.errors import ConnectError
from penstock.connect.rest.forwarding import Driver, Forwarding
from penstock.connect.rest.table import routes
from penstock.connect.worker.election import Election
from penstock.connect.worker.herder import Herder
from penstock.connect.worker.settings import WorkerSettings
from penstock.settings.listeners import format_address
from penstock.settings.sources import parsed_file
from penstock.web import OPEN_DOOR, Door, HttpError, Service, make_app
from penstock.web.application import App
from penstock.web.callers import permit_all
from penstock.web.rights import Rights
from penstock.web.serving import listening_socket, serve_on
from penstock.wire.cluster import Cluster

SUMMARY = "Kafka Connect's REST API: connectors, their tasks, states and offsets."
_log = logging.getLogger(__name__)


def make_connect_app(herder: Herder, driver: Driver, cluster_id: str, door: Door = OPEN_DOOR) -> App:
    rights = Rights(partial(authorizer_of, herder.topics.admin)) if door.is_kept else None
    service = Service(
        "Penstock Connect",
        __version__,
        SUMMARY,
        authenticate=door.authenticate,
        metrics=herder.samples,
        authorize=permit_all if rights is None else rights.authorize,
    )
    tls = herder.settings.client.tls if door.settings.tls is not None else None
    return Forwarding(make_app(service, routes(herder, cluster_id)), driver, tls)


def run(
    settings: WorkerSettings,
    connectors: Sequence[Mapping[str, str]] = (),
    door: Door = OPEN_DOOR,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT. OSError when the address cannot be had."""
    with listening_socket(*settings.listen) as listener:
        host, port = listener.getsockname()[:2]
        advertised = format_address(settings.advertised[0] or host, settings.advertised[1] or port)
        herder, driver = Herder(settings, advertised), Driver()
        election: Election | None = None
        try:
            cluster_id = herder.topics.admin.cluster().cluster_id or ""
            if settings.distributed:
                election = _elect(settings, herder, driver, f"{door.settings.scheme}://{advertised}")
            else:
                herder.drive()
                driver.elected(True, "")
                _create(herder, connectors)
            app = make_connect_app(herder, driver, cluster_id, door)
            serve_on(app, listener, ready or door.print_ready, door.certificates)
        finally:
            if election is not None:
                election.end()
            herder.close()
            if election is not None:
                election.join(10)


def _elect(settings: WorkerSettings, herder: Herder, driver: Driver, url: str) -> Election:
    """Join the group; returns after the first election, so that a worker that is ready can be asked."""
    settled = threading.Event()

    def elected(here: bool, leader: str) -> None:
        if here and not herder.driving:
            herder.drive()
        elif not here and herder.driving:
            driver.elected(False, leader)
            herder.resign()
        driver.elected(here, leader)
        settled.set()

    cluster = Cluster.of(settings.client)
    election = Election(
        cluster, settings.group_id, settings.config_topic, url, settings.session_timeout_ms, elected
    )
    election.start()
    settled.wait(60)
    return election


def _create(herder: Herder, connectors: Sequence[Mapping[str, str]]) -> None:
    for config in connectors:
        try:
            herder.create(config.get("name", ""), dict(config))
        except HttpError as refused:
            raise ConnectError(refused.message) from refused


def read_connector_file(path: str) -> dict[str, str]:
    """A connector from a properties file, or from JSON: its settings, or `{"name": …, "config": {…}}`."""
    if not path.endswith(".json"):
        return parsed_file(path)  # its variables are the worker's to resolve, where they are not shown
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ConnectError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConnectError(f"{path} holds no JSON object")
    config = found["config"] if isinstance(found.get("config"), dict) else found
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in config.items()
        if value is not None
    }
    return {"name": str(found["name"]), **texts} if "name" in found else texts
