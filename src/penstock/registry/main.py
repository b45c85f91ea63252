"""The registry as a process: the store replayed, the application served until SIGTERM."""

from __future__ import annotations

from collections.abc import Callable

from penstock import __version__
from penstock.client.admin import Admin
from penstock.registry.routes.table import MEDIA_TYPES, routes
from penstock.registry.service import Registry
from penstock.registry.settings import RegistrySettings
from penstock.registry.store import Store
from penstock.web import Service, make_app
from penstock.web.application import App
from penstock.web.serving import listening_socket, print_ready, serve_on

GROUP_ID = "schema-registry"


def make_registry_app(registry: Registry, settings: RegistrySettings, cluster_id: str) -> App:
    summary = "Schemas of topics, their versions and their compatibility. Confluent's Schema Registry API."
    service = Service("Penstock Schema Registry", __version__, summary, MEDIA_TYPES)
    table = routes(registry, cluster_id, GROUP_ID, mode_mutability=settings.mode_mutability)
    return make_app(service, table)


def run(host: str, port: int, settings: RegistrySettings, ready: Callable[[str], None] = print_ready) -> None:
    """Serves until SIGTERM or SIGINT. Raises OSError when the address cannot be had."""
    with listening_socket(host, port) as listener:
        store = Store(settings)
        store.start()
        registry = Registry(store)
        try:
            cluster = Admin(settings.bootstrap_servers, settings=settings.client).cluster()
            serve_on(make_registry_app(registry, settings, cluster.cluster_id or ""), listener, ready)
        finally:
            registry.close()
            store.close()
