"""Records of a topic as a file: JSON lines, CSV or Parquet. They are read by pages, or by a search.

JSON and CSV are sent while they are read. A Parquet file ends with its index, so it is built in a temporary
file first. Called by `api_messages`.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import IO, Any, Final

from penstock.client.errors import InvalidValue
from penstock.client.messages import LIMIT_MAX as PAGE_MAX
from penstock.client.paging import Message, Newest, Oldest
from penstock.console.backend import Backend, MessageQuery
from penstock.console.searching import SearchQuery
from penstock.console.shapes import format_timestamp

FORMATS: Final = {
    "json": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
RECORDS: Final = 10_000
RECORDS_MAX: Final = 1_000_000
COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value", "headers")
CHUNK: Final = 64 * 1024

Row = dict[str, Any]


async def batches(backend: Backend, query: MessageQuery, filter_text: str) -> AsyncIterator[list[Message]]:
    """Up to `query.limit` records, in the order of the page or, with a filter, of the search."""
    found = _searched(backend, query, filter_text) if filter_text.strip() else _paged(backend, query)
    left = query.limit
    async for messages in found:
        await backend.learn(messages)
        yield messages[:left]
        left -= len(messages)
        if left <= 0:
            break


async def _paged(backend: Backend, query: MessageQuery) -> AsyncIterator[list[Message]]:
    left = query.limit
    while left > 0:
        page = await backend.messages(replace(query, limit=min(PAGE_MAX, left)))
        yield list(page.messages)
        left -= len(page.messages)
        if page.next is None:
            return
        query = replace(query, start=page.next)


async def _searched(backend: Backend, query: MessageQuery, filter_text: str) -> AsyncIterator[list[Message]]:
    start = Oldest() if isinstance(query.start, Newest) else query.start
    search = await backend.search(SearchQuery(query.topic, filter_text, start, query.partition))
    try:
        while True:
            progress = await search.poll()
            yield list(progress.hits)
            if progress.done:
                return
    finally:
        await search.close()


def row(backend: Backend, message: Message) -> Row:
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": format_timestamp(message.timestamp_ms),
        "key": _plain(backend, message, True),
        "value": _plain(backend, message, False),
        "headers": {name: _text(value) for name, value in message.headers},
    }


def _plain(backend: Backend, message: Message, of_key: bool) -> Any:
    """Decoded by its schema; else JSON as it is, else text, else `hex:` and the digits."""
    decoded = backend.decoded_known(message, of_key)
    if decoded is not None and not decoded.failed:
        return decoded.value
    data = message.key if of_key else message.value
    if data is not None and data[:1] in (b"{", b"["):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            pass
    return _text(data)


def _text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"hex:{data.hex()}"


def json_lines(rows: Iterable[Row]) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False, default=str).encode() + b"\n" for each in rows)


def csv_lines(rows: Iterable[Row]) -> bytes:
    """Objects and lists are JSON inside their cell. A text that a spreadsheet would run as a formula gets an
    apostrophe in front, as spreadsheets themselves write it."""
    out = io.StringIO()
    writer = csv.writer(out)
    for each in rows:
        writer.writerow([_cell(each[name]) for name in COLUMNS])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


CSV_HEAD: Final = (",".join(COLUMNS) + "\r\n").encode()
WRITERS: Final[dict[str, tuple[bytes, Callable[[Iterable[Row]], bytes]]]] = {
    "json": (b"", json_lines),
    "csv": (CSV_HEAD, csv_lines),
}


async def text_file(
    backend: Backend, form: str, found: AsyncIterator[list[Message]], first: Sequence[Message]
) -> AsyncIterator[bytes]:
    """`first` was read before the answer began, so that a refusal is an answer of its own."""
    head, written = WRITERS[form]
    yield head + written([row(backend, message) for message in first])
    async for messages in found:
        yield written([row(backend, message) for message in messages])


async def parquet_file(
    backend: Backend, found: AsyncIterator[list[Message]], first: Sequence[Message]
) -> IO[bytes]:
    """A temporary file at its beginning. Keys and values are text: JSON where they are decoded."""
    import pyarrow.parquet as parquet  # loaded when it is asked for: it is large

    spool = tempfile.TemporaryFile()  # noqa: SIM115 - `pieces` closes it when it is sent
    with parquet.ParquetWriter(spool, _parquet_schema(), compression="zstd") as writer:
        writer.write_table(_table(backend, first))
        async for messages in found:
            if messages:
                writer.write_table(_table(backend, messages))
    spool.seek(0)
    return spool


def _parquet_schema() -> Any:
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        [
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("ms", tz="UTC")),
            ("key", text),
            ("value", text),
            ("headers", text),
        ]
    )


def _table(backend: Backend, messages: Sequence[Message]) -> Any:
    import pyarrow as pa

    rows = [row(backend, message) for message in messages]
    columns = {
        "partition": [message.partition for message in messages],
        "offset": [message.offset for message in messages],
        "timestamp": [message.timestamp_ms for message in messages],
        **{name: [_whole(each[name]) for each in rows] for name in ("key", "value", "headers")},
    }
    return pa.table(columns, schema=_parquet_schema())


def _whole(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def pieces(file: IO[bytes]) -> Iterable[bytes]:
    with file:
        while piece := file.read(CHUNK):
            yield piece


def checked_format(name: str) -> str:
    if name not in FORMATS:
        raise InvalidValue(f"Records cannot be written as {name!r}. Use one of {', '.join(FORMATS)}.")
    return name
