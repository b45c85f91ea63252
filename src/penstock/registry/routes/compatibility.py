"""Whether a schema could be registered: compatibility checks, with reasons when asked for."""

from __future__ import annotations

from penstock.registry.lookups import aliased, find_version
from penstock.registry.parsing import parse_request
from penstock.registry.registering import incompatibilities
from penstock.registry.requests import SchemaRequest, Verdict
from penstock.registry.routes import access, problems
from penstock.registry.routes.subjects import NORMALIZE
from penstock.registry.service import Registry
from penstock.registry.state import State
from penstock.registry.subjects import parse_named
from penstock.schemas.levels import Level
from penstock.web import Call, Query, Route

VERBOSE = Query("verbose", bool, False, "The reasons, too.")


def routes(registry: Registry) -> tuple[Route, ...]:
    path = "/compatibility/subjects/{subject}/versions"

    async def check(call: Call) -> Verdict:
        request: SchemaRequest = call.body
        await registry.rights.check_references(call.caller, request.references)
        reasons = await registry.ask_at_length(lambda s: _check(s, call), len(request.schema or ""))
        return Verdict(not reasons, reasons if call.flag("verbose") else None)

    refused = (problems.INVALID_SCHEMA, problems.INVALID_SUBJECT)
    of_one = (problems.SUBJECT, problems.VERSION, problems.INVALID_VERSION, *refused)
    query = (NORMALIZE, VERBOSE)
    return (
        Route("POST", path, check, "Against the versions that the subject's level names.",
              access=access.CHECK, body=SchemaRequest,
              returns=Verdict, query=query, problems=refused),
        Route("POST", f"{path}/{{version}}", check, "Against one version.",
              access=access.CHECK, body=SchemaRequest,
              returns=Verdict, query=query, problems=of_one),
    )  # fmt: skip


def _check(state: State, call: Call) -> list[str]:
    subject = aliased(state, parse_named(call.path["subject"]))
    normalise = call.flag("normalize") or bool(state.config(subject).normalize)
    older = state.versions(subject)
    if "version" in call.path and (older or call.path["version"] not in ("latest", "-1")):
        older = [find_version(state, subject, call.path["version"], deleted=False)]
    content = parse_request(state, subject, call.body, normalise=normalise)
    level = Level(state.config(subject).compatibility_level or Level.BACKWARD)
    return incompatibilities(state, subject, content, older, level)
