"""The registry as a process: the topic is replayed, then the application is served until SIGTERM."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from penstock import __version__
from penstock.client.admin import Admin
from penstock.client.errors import ReplayFailed
from penstock.registry.context_paths import ContextPaths
from penstock.registry.routes.table import MEDIA_TYPES, routes
from penstock.registry.service import Registry
from penstock.registry.settings import RegistrySettings
from penstock.web import Service, make_app
from penstock.web.application import App
from penstock.web.serving import listening_socket, print_ready, serve_on

GROUP_ID = "schema-registry"


def make_registry_app(registry: Registry, settings: RegistrySettings, cluster_id: str) -> App:
    summary = "Schemas of topics, their versions and their compatibility. Confluent's Schema Registry API. "
    summary += "Every path is also served below /contexts/{context}, for the subjects of that context."
    service = Service("Penstock Schema Registry", __version__, summary, MEDIA_TYPES)
    table = routes(registry, cluster_id, GROUP_ID, mode_mutability=settings.mode_mutability)
    return ContextPaths(make_app(service, table))


def run(host: str, port: int, settings: RegistrySettings, ready: Callable[[str], None] = print_ready) -> None:
    """Serves until SIGTERM or SIGINT. Raises OSError when the address cannot be had, and ReplayFailed when
    the topic can be replayed no more: only a new process can read it from its start.
    """
    failures: list[ReplayFailed] = []
    serving = False

    def end(why: str) -> None:
        failures.append(ReplayFailed(f"The registry ends: {why}. Start it again."))
        if serving:
            os.kill(os.getpid(), signal.SIGTERM)

    with listening_socket(host, port) as listener:
        registry = Registry(settings, end)
        try:
            registry.start()
            cluster = Admin(settings.bootstrap_servers, settings=settings.client).cluster()
            serving = True
            serve_on(make_registry_app(registry, settings, cluster.cluster_id or ""), listener, ready)
        finally:
            registry.close()
    if failures:
        raise failures[0]
