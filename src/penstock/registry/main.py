"""The registry as a process: the topic is replayed, then the application is served until SIGTERM."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial

from penstock import __version__
from penstock.client.acl_checking import authorizer_of
from penstock.client.admin import Admin
from penstock.client.errors import ReplayFailed
from penstock.registry.context_paths import ContextPaths
from penstock.registry.rights import DeciderOf, by_topics
from penstock.registry.routes.table import MEDIA_TYPES, routes
from penstock.registry.service import Registry
from penstock.registry.settings import RegistrySettings
from penstock.registry.subject_acls import by_entries, entries_topic
from penstock.web import OPEN_DOOR, Door, Service, make_app
from penstock.web.application import App
from penstock.web.rights import Rights
from penstock.web.serving import listening_socket, serve_on

GROUP_ID = "schema-registry"


def make_registry_app(
    registry: Registry, settings: RegistrySettings, cluster_id: str, door: Door = OPEN_DOOR
) -> App:
    summary = "Schemas of topics, their versions and their compatibility. Confluent's Schema Registry API. "
    summary += "Every path is also served below /contexts/{context}, for the subjects of that context."
    service = Service(
        "Penstock Schema Registry",
        __version__,
        summary,
        MEDIA_TYPES,
        authenticate=door.authenticate,
        authorize=registry.rights.authorize,
    )
    table = routes(registry, cluster_id, GROUP_ID, mode_mutability=settings.mode_mutability)
    return ContextPaths(make_app(service, table))


def _decider(registry: Registry, settings: RegistrySettings, admin: Admin) -> DeciderOf:
    """By the registry's own entries, or by those of the cluster on topics."""
    if not settings.has_own_entries:
        return by_topics(Rights(partial(authorizer_of, admin)))
    topic = entries_topic(settings)
    topic.start()
    registry.closed_with_it(topic.close)
    return by_entries(topic)


def run(
    host: str,
    port: int,
    settings: RegistrySettings,
    door: Door = OPEN_DOOR,
    ready: Callable[[str], None] | None = None,
    *,
    shared: bool = False,
) -> None:
    """Serves until SIGTERM or SIGINT, with `shared` on an address that other workers listen on, too. Raises
    OSError when the address cannot be had, and ReplayFailed when the topic can be replayed no more: only a
    new process can read it from its start.
    """
    failures: list[ReplayFailed] = []
    serving = False

    def end(why: str) -> None:
        failures.append(ReplayFailed(f"The registry ends: {why}. Start it again."))
        if serving:
            os.kill(os.getpid(), signal.SIGTERM)

    with listening_socket(host, port, shared=shared) as listener:
        registry = Registry(settings, end)
        try:
            registry.start()
            admin = Admin(settings.bootstrap_servers, settings=settings.client)
            cluster = admin.cluster()
            if door.is_kept:
                registry.rights.decider = _decider(registry, settings, admin)
            registry.start_exporters(cluster.cluster_id or "")
            serving = True
            app = make_registry_app(registry, settings, cluster.cluster_id or "", door)
            serve_on(app, listener, ready or door.print_ready, door.certificates)
        finally:
            registry.close()
    if failures:
        raise failures[0]
