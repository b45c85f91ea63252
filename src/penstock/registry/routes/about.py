"""The registry itself and its contexts."""

from __future__ import annotations

from typing import Any

from penstock import __version__
from penstock.registry.deleting import decide_delete_context
from penstock.registry.lookups import page
from penstock.registry.routes import access, problems
from penstock.registry.routes.subjects import LIMIT, OFFSET
from penstock.registry.service import Registry
from penstock.web import Call, Problem, Query, Route

PREFIX = Query("contextPrefix", str, "", "What the names begin with.")


def routes(registry: Registry, cluster_id: str, group_id: str) -> tuple[Route, ...]:
    api = _About(registry, cluster_id, group_id)
    there, anybody = "Nothing: the registry is there.", access.ANYBODY
    no_context = Problem(404, "Context not found", 40401)
    return (
        Route("GET", "/", api.root, there, access=anybody, returns=dict[str, Any]),
        Route("POST", "/", api.root, there, access=anybody, returns=dict[str, Any]),
        Route("GET", "/contexts", api.contexts, "The contexts.", access=access.LISTED, returns=list[str],
              query=(PREFIX, OFFSET, LIMIT)),
        Route("DELETE", "/contexts/{context}", api.delete_context, "Deletes a context without subjects.",
              access=access.CHANGE_GLOBAL_RULES, status=204, problems=(no_context, problems.NOT_PERMITTED)),
        Route("GET", "/v1/metadata/id", api.server_id, "Which cluster this is.", access=anybody,
              returns=dict[str, Any]),
        Route("GET", "/v1/metadata/version", api.version, "The version.", access=anybody,
              returns=dict[str, str]),
        Route("GET", "/v1/metadata/deployment", api.deployment, "How it is deployed: nothing is told of it.",
              access=anybody, returns=dict[str, list[str]]),
    )  # fmt: skip


class _About:
    def __init__(self, registry: Registry, cluster_id: str, group_id: str) -> None:
        self._registry = registry
        self._clusters = {"kafka-cluster": cluster_id, "schema-registry-cluster": group_id}

    async def root(self, _call: Call) -> Any:
        return {}

    async def contexts(self, call: Call) -> Any:
        prefix = call.text("contextPrefix")
        found = self._registry.ask(lambda s: sorted(name for name in s.contexts if name.startswith(prefix)))
        return page(found, call.number("offset"), call.number("limit"))

    async def delete_context(self, call: Call) -> None:
        name = call.path["context"]
        context = name if name.startswith(".") else f".{name}"
        await self._registry.change(lambda s: decide_delete_context(s, context))

    async def server_id(self, _call: Call) -> Any:
        return {"scope": {"path": [], "clusters": self._clusters}, "id": ""}

    async def version(self, _call: Call) -> Any:
        return {"version": __version__, "commitId": ""}

    async def deployment(self, _call: Call) -> Any:
        return {"attributes": []}
