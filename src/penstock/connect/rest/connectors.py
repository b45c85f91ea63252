"""Routes of connectors: their configurations, states, tasks, topics and offsets."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import quote

from penstock.connect.rest import access, bodies, offsets
from penstock.connect.worker import refusals
from penstock.connect.worker.herder import Herder
from penstock.connect.worker.layout import PAUSED, STARTED, STOPPED
from penstock.web import Answer, Call, Problem, Query, Route

NOT_FOUND: Final = Problem(404, "There is no such connector or task.")
INVALID: Final = Problem(400, "The configuration is not valid.")
EXISTS: Final = Problem(409, "A connector of this name exists, or the workers elect a driver.")
_STATES: Final = {"RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}
ONE: Final = "/connectors/{connector}"
JsonObject = dict[str, Any]


def routes(herder: Herder) -> tuple[Route, ...]:
    api = _Connectors(herder)
    read, write = access.READ, access.WRITE
    expand = Query("expand", str, "", "status or info; may be repeated.")
    flags = (
        Query("includeTasks", str, "", "true: tasks, too."),
        Query("onlyFailed", str, "", "true: only what has failed."),
    )
    forward = Query("forward", str, "", "Whether the driver is asked; set by workers.")
    lines = Query("lines", int, 100, "How many at most.")
    return (
        Route("GET", "/connectors", api.list, "The names of the connectors.", access=read,
              query=(expand, forward), returns=list[str]),
        Route("POST", "/connectors", api.create, "Creates a connector.", access=write,
              body=JsonObject, body_streamed=True, returns=JsonObject, status=201, query=(forward,),
              problems=(INVALID, EXISTS)),
        Route("GET", ONE, api.info, "A connector.", access=read, returns=JsonObject, problems=(NOT_FOUND,)),
        Route("DELETE", ONE, api.delete, "Ends and forgets a connector.", access=write, status=204,
              query=(forward,), problems=(NOT_FOUND,)),
        Route("GET", f"{ONE}/config", api.config, "Its configuration.", access=read, returns=JsonObject,
              problems=(NOT_FOUND,)),
        Route("PUT", f"{ONE}/config", api.put_config, "Sets the configuration, or creates the connector.",
              access=write, body=JsonObject, body_streamed=True, returns=JsonObject, query=(forward,),
              problems=(INVALID,)),
        Route("PATCH", f"{ONE}/config", api.patch_config, "Changes some settings; null removes one.",
              access=write, body=JsonObject, body_streamed=True, returns=JsonObject, query=(forward,),
              problems=(INVALID, NOT_FOUND)),
        Route("GET", f"{ONE}/status", api.status, "How it and its tasks are.", access=read,
              returns=JsonObject, problems=(NOT_FOUND,)),
        Route("GET", f"{ONE}/tasks", api.tasks, "Its tasks.", access=read, returns=list[JsonObject],
              problems=(NOT_FOUND,)),
        Route("GET", f"{ONE}/tasks/{{task}}/status", api.task_status, "How a task is.", access=read,
              returns=JsonObject, problems=(NOT_FOUND,)),
        Route("POST", f"{ONE}/tasks/{{task}}/restart", api.restart_task, "Starts a task again.",
              access=write, status=204, query=(forward,), problems=(NOT_FOUND,)),
        Route("POST", f"{ONE}/restart", api.restart, "Starts it, and its tasks if asked to, again.",
              access=write, status=204, query=(*flags, forward), returns=JsonObject, problems=(NOT_FOUND,)),
        Route("PUT", f"{ONE}/pause", api.pause, "Pauses it.", access=write, status=202,
              problems=(NOT_FOUND,)),
        Route("PUT", f"{ONE}/resume", api.resume, "Lets it go on.", access=write, status=202,
              problems=(NOT_FOUND,)),
        Route("PUT", f"{ONE}/stop", api.stop, "Stops it: its offsets may be changed then.", access=write,
              status=204, query=(forward,), problems=(NOT_FOUND,)),
        Route("GET", f"{ONE}/topics", api.topics, "The topics that it has used.", access=read,
              returns=JsonObject),
        Route("PUT", f"{ONE}/topics/reset", api.reset_topics, "Forgets which topics it has used.",
              access=write, status=202),
        Route("GET", f"{ONE}/logs", api.logs, "What it and its tasks have logged last. Not in Kafka.",
              access=read, query=(lines,), returns=list[JsonObject], problems=(NOT_FOUND,)),
        Route("POST", f"{ONE}/redrive", api.redrive, "Sends its dead letters again. Not in Kafka.",
              access=write, query=(forward,), returns=JsonObject, problems=(INVALID, NOT_FOUND)),
        Route("GET", f"{ONE}/offsets", api.offsets, "Where it is.", access=read, returns=JsonObject,
              problems=(NOT_FOUND,)),
        Route("PATCH", f"{ONE}/offsets", api.alter_offsets, "Sets where it goes on.", access=write,
              body=JsonObject, body_streamed=True, returns=JsonObject, query=(forward,),
              problems=(INVALID, NOT_FOUND)),
        Route("DELETE", f"{ONE}/offsets", api.reset_offsets, "Lets it begin anew.", access=write,
              returns=JsonObject, query=(forward,), problems=(INVALID, NOT_FOUND)),
    )  # fmt: skip


class _Connectors:
    """Handlers; the herder blocks, so each call runs in a thread."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    async def list(self, call: Call) -> Any:
        wanted = call.request.query_params.getlist("expand")
        if not wanted:
            return self._herder.names()
        shows = {"status": self._herder.status, "info": self._herder.info}
        return {
            name: {kind: shows[kind](name) for kind in wanted if kind in shows}
            for name in self._herder.names()
        }

    async def create(self, call: Call) -> Answer:
        name, config, state = _creation(bodies.needed(await bodies.read_object(call)))
        made = await asyncio.to_thread(self._herder.create, name, config, state)
        return _created(call, made)

    async def info(self, call: Call) -> Any:
        return self._herder.info(call.path["connector"])

    async def config(self, call: Call) -> Any:
        return self._herder.info(call.path["connector"])["config"]

    async def put_config(self, call: Call) -> Answer:
        name = call.path["connector"]
        config = bodies.texts(bodies.needed(await bodies.read_object(call)))
        is_new, made = await asyncio.to_thread(self._herder.put, name, config)
        return _created(call, made) if is_new else Answer(made)

    async def patch_config(self, call: Call) -> Any:
        changes = bodies.nullable_texts(await bodies.read_object(call) or {})
        return await asyncio.to_thread(self._herder.patch, call.path["connector"], changes)

    async def delete(self, call: Call) -> None:
        await asyncio.to_thread(self._herder.delete, call.path["connector"])

    async def status(self, call: Call) -> Any:
        return self._herder.status(call.path["connector"])

    async def tasks(self, call: Call) -> Any:
        return self._herder.task_configs(call.path["connector"])

    async def task_status(self, call: Call) -> Any:
        name, number = call.path["connector"], _number(call)
        for task in self._herder.statuses.shown(name)[1]:
            if task["id"] == number:
                return task
        raise refusals.not_found(f"No status found for task {name}-{number}")

    async def restart_task(self, call: Call) -> None:
        await asyncio.to_thread(self._herder.restart_task, call.path["connector"], _number(call))

    async def restart(self, call: Call) -> Answer:
        # As in Kafka, every other word than true is false.
        flags = {
            "include_tasks": call.text("includeTasks").lower() == "true",
            "only_failed": call.text("onlyFailed").lower() == "true",
        }
        shown = await asyncio.to_thread(lambda: self._herder.restart(call.path["connector"], **flags))
        return Answer(None, 204) if shown is None else Answer(shown, 202)

    async def pause(self, call: Call) -> None:
        await asyncio.to_thread(self._herder.set_target, call.path["connector"], PAUSED)

    async def resume(self, call: Call) -> None:
        await asyncio.to_thread(self._herder.set_target, call.path["connector"], STARTED)

    async def stop(self, call: Call) -> None:
        await asyncio.to_thread(self._herder.set_target, call.path["connector"], STOPPED)

    async def topics(self, call: Call) -> Any:
        name = call.path["connector"]
        return {name: {"topics": self._herder.statuses.used_topics(name)}}

    async def reset_topics(self, call: Call) -> None:
        self._herder.statuses.reset_topics(call.path["connector"])

    async def logs(self, call: Call) -> Any:
        name = call.path["connector"]
        self._herder.find(name)
        return self._herder.logs.last(name, call.number("lines"))

    async def redrive(self, call: Call) -> Any:
        count = await asyncio.to_thread(self._herder.redrive, call.path["connector"])
        return {"redriven": count}

    async def offsets(self, call: Call) -> Any:
        return await asyncio.to_thread(offsets.show, self._herder, call.path["connector"])

    async def alter_offsets(self, call: Call) -> Any:
        body = bodies.needed(await bodies.read_object(call))
        bodies.only(body, ("offsets",))
        return await asyncio.to_thread(offsets.alter, self._herder, call.path["connector"], body)

    async def reset_offsets(self, call: Call) -> Any:
        return await asyncio.to_thread(offsets.reset, self._herder, call.path["connector"])


def _created(call: Call, made: JsonObject) -> Answer:
    where = str(call.request.base_url).rstrip("/") + "/connectors/" + quote(made["name"], safe="")
    return Answer(made, 201, {"Location": where})


def _creation(body: JsonObject) -> tuple[str, dict[str, str], str]:
    bodies.only(body, ("name", "config", "initial_state"))
    if body.get("config") is None:
        raise refusals.failed("The request has no config: give the connector's settings as an object")
    config = bodies.texts(body["config"])
    name = config.get("name", "") if body.get("name") is None else str(body["name"])
    state = body.get("initial_state")
    if state is not None and str(state).upper() not in _STATES:
        raise refusals.failed(f"initial_state is one of {', '.join(_STATES)}, not {state!r}")
    return name.strip(), config, _STATES[str(state or "RUNNING").upper()]


def _number(call: Call) -> int:
    text = call.path["task"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise refusals.not_found("HTTP 404 Not Found")
    return int(text)
