"""Settings and modes: of the whole registry, of a context, of a subject."""

from __future__ import annotations

from typing import Any

from penstock.registry import configuring, errors
from penstock.registry.requests import ConfigAnswer, ConfigRequest, ModeBody
from penstock.registry.routes import access, problems
from penstock.registry.service import Registry
from penstock.registry.state import GLOBAL, State
from penstock.registry.subjects import Subject, parse_subject
from penstock.web import Call, Query, Route

DEFAULT_TO_GLOBAL = Query("defaultToGlobal", bool, False, "What holds, where nothing of its own is set.")
RECURSIVE = Query("recursive", bool, False, "Of everything inside, too.")
FORCE = Query("force", bool, False, "Also where there are schemas already.")


def routes(registry: Registry, *, mode_mutability: bool) -> tuple[Route, ...]:
    api = _Settings(registry, mode_mutability)
    found: list[Route] = []
    places = (
        ("", "the registry", access.SEE_GLOBAL_RULES, access.CHANGE_GLOBAL_RULES),
        ("/{subject}", "a subject", access.CHECK, access.CHANGE_RULES),
    )
    for suffix, of, sees, changes in places:
        config, mode = f"/config{suffix}", f"/mode{suffix}"
        levels = (problems.INVALID_LEVEL, problems.NOT_PERMITTED)
        modes = (problems.INVALID_MODE, problems.NOT_PERMITTED)
        found += (
            Route("GET", config, api.config, f"The settings of {of}.",
              access=sees, returns=ConfigAnswer,
                  query=(DEFAULT_TO_GLOBAL,), problems=(problems.CONFIG,)),
            Route("PUT", config, api.set_config, f"Changes the settings of {of}.",
              access=changes, body=ConfigRequest,
                  returns=ConfigRequest, problems=levels),
            Route("DELETE", config, api.delete_config, f"Takes the settings of {of} away.",
              access=changes,
                  returns=ConfigAnswer, problems=(problems.CONFIG,)),
            Route("GET", mode, api.mode, f"The mode of {of}.",
              access=sees, returns=ModeBody, query=(DEFAULT_TO_GLOBAL,),
                  problems=(problems.MODE,)),
            Route("PUT", mode, api.set_mode, f"Changes the mode of {of}.",
              access=changes, body=ModeBody, returns=ModeBody,
                  query=(FORCE,), problems=modes),
            Route("DELETE", mode, api.delete_mode, f"Takes the mode of {of} away.",
              access=changes, returns=ModeBody, query=(RECURSIVE,),
                  problems=(problems.MODE, *modes)),
        )  # fmt: skip
    return tuple(found)


class _Settings:
    def __init__(self, registry: Registry, mode_mutability: bool) -> None:
        self._registry = registry
        self._mode_mutability = mode_mutability

    async def config(self, call: Call) -> ConfigAnswer:
        return self._registry.ask(lambda s: _config(s, call))

    async def set_config(self, call: Call) -> Any:
        scope, _ = _scope(call)
        return await self._registry.change(lambda s: configuring.decide_config(s, scope, call.body))

    async def delete_config(self, call: Call) -> Any:
        scope, _ = _scope(call)
        return await self._registry.change(lambda s: configuring.decide_delete_config(s, scope))

    async def mode(self, call: Call) -> ModeBody:
        return self._registry.ask(lambda s: _mode(s, call))

    async def set_mode(self, call: Call) -> Any:
        self._check_mutable()
        scope, subject = _scope(call)
        body: ModeBody = call.body
        mode, force = body.mode.upper() if body.mode is not None else None, call.flag("force")
        return await self._registry.change(
            lambda s: configuring.decide_mode(s, scope, subject, mode, force=force)
        )

    async def delete_mode(self, call: Call) -> Any:
        self._check_mutable()
        scope, subject = _scope(call)
        recursive = call.flag("recursive")
        return await self._registry.change(
            lambda s: configuring.decide_delete_mode(s, scope, subject, recursive=recursive)
        )

    def _check_mutable(self) -> None:
        if not self._mode_mutability:
            raise errors.not_permitted("Mode changes are not allowed: mode.mutability is false")


def _config(state: State, call: Call) -> ConfigAnswer:
    scope, subject = _scope(call)
    if scope != GLOBAL and scope not in state.configs and not call.flag("defaultToGlobal"):
        raise errors.no_subject_config(scope)
    whole = scope == GLOBAL or call.flag("defaultToGlobal")
    found = state.config(subject) if whole else state.configs[scope]
    return configuring.config_answer(found, state.config(subject).compatibility_level)


def _mode(state: State, call: Call) -> ModeBody:
    scope, subject = _scope(call)
    if scope != GLOBAL and not call.flag("defaultToGlobal"):
        if scope not in state.modes:
            raise errors.no_subject_mode(scope)
        return ModeBody(state.modes[scope])
    return ModeBody(state.mode(subject))


def _scope(call: Call) -> tuple[str, Subject | None]:
    """The key of the settings and the subject that it means; none for the whole registry."""
    text = call.path.get("subject")
    if text is None:
        return GLOBAL, None
    subject = parse_subject(text)
    return (str(subject) if subject.name else f":{subject.context}:"), subject
