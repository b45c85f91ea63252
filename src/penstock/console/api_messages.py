"""Routes of the JSON API that give records: as a file, and what became of one. `api` joins them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response, StreamingResponse

from penstock.client.paging import Message
from penstock.console.downloading import (
    FORMATS,
    RECORDS,
    RECORDS_MAX,
    batches,
    checked_format,
    parquet_file,
    pieces,
    text_file,
)
from penstock.console.following import Followed, followed
from penstock.console.query import STARTS, parse_number, parse_query
from penstock.console.services import Services
from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType
from penstock.web import Call, Problem, Query, Route

_FILE: Final = (
    Query("format", str, "json", f"One of {', '.join(FORMATS)}."),
    Query("from", str, "", f"Where to start: {', '.join(STARTS)}."),
    Query("offset", str, "", "With from=offset: the offset in each partition."),
    Query("timestamp", str, "", "With from=timestamp: ISO 8601, or milliseconds since 1970."),
    Query("partition", str, "", "One partition's number only."),
    Query("limit", str, "", f"At most so many records, {RECORDS:,} when it is left out."),
    Query("filter", str, "", "Only records that this filter finds, oldest first."),
)


def message_routes(services: Services, problems: tuple[Problem, ...]) -> tuple[Route, ...]:
    api = MessagesApi(services)
    read = ByBroker(Operation.READ, ResourceType.TOPIC)
    one = "/api/topics/{name}"
    return (
        Route("GET", f"{one}/download", api.download, "Records as a file.", access=read, query=_FILE,
              problems=problems),
        Route("GET", f"{one}/records/{{partition}}/{{offset}}", api.follow,
              "Where a record came from and what became of it.", access=read, returns=Followed,
              problems=problems),
    )  # fmt: skip


class MessagesApi:
    """One method for each route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._backend = services.backend

    async def download(self, call: Call) -> Response:
        form = checked_format(call.text("format") or "json")
        asked = {name: call.text(name) for name in call.query if name != "limit"}
        limit = call.text("limit")
        most = parse_number("limit", limit, least=1, most=RECORDS_MAX) if limit else RECORDS
        query = parse_query(call.path["name"], asked)
        found = batches(self._backend, replace(query, limit=most), call.text("filter"))
        first: list[Message] = await anext(found, [])
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in query.topic)
        ending = "jsonl" if form == "json" else form
        headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
        if form == "parquet":
            file = await parquet_file(self._backend, found, first)
            return StreamingResponse(pieces(file), media_type=FORMATS[form], headers=headers)
        text = text_file(self._backend, form, found, first)
        return StreamingResponse(text, media_type=FORMATS[form], headers=headers)

    async def follow(self, call: Call) -> Followed:
        partition = parse_number("partition", call.path["partition"], most=2**31 - 1)
        offset = parse_number("offset", call.path["offset"])
        return await followed(self._services, call.path["name"], partition, offset)
