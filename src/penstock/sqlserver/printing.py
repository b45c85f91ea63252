"""PRINT: the records of a topic as text, with formats guessed from the first ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any, Final

from penstock.client.librdkafka import Connection
from penstock.expressions.java_text import DAY_MS, date_text
from penstock.plan.raw_records import RawRecord
from penstock.schemas.wire_format import HEADER_BYTES
from penstock.sql import statements as s
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.json_reading import json_text, parse
from penstock.sqlserver.channels import RowChannel
from penstock.sqlserver.errors import StatementError
from penstock.sqlserver.server import SqlServer
from penstock.sqlserver.topic_reading import TopicReader, starting_offsets

POLL_S: Final = 0.1
CONNECT_S: Final = 30.0
HEARTBEAT_S: Final = 10.0


class Printing:
    def __init__(self, server: SqlServer) -> None:
        self._server = server

    async def lines(self, node: s.PrintTopic) -> AsyncIterator[bytes]:
        channel = RowChannel()
        known = await asyncio.to_thread(self._server.topics.all)
        if node.topic not in known:
            near = [name for name in known if name.lower() == node.topic.lower()]
            hint = f" Did you mean {near[0]}?" if near else ""
            why = "or the KSQL user does not have permissions"
            yield f"Could not find topic '{node.topic}', {why}.{hint}\n".encode()
            return
        threading.Thread(target=self._read, args=(node, channel), name="print", daemon=True).start()
        shown: set[str] = set()
        try:
            while (records := await channel.take(HEARTBEAT_S)) is not None:
                yield (
                    "".join(text for record in records for text in described(record, shown)).encode() or b"\n"
                )
        finally:
            channel.close()

    def _read(self, node: s.PrintTopic, channel: RowChannel) -> None:
        error: Exception | None = None
        try:
            reset = "earliest" if node.from_beginning else "latest"
            starts = starting_offsets(self._server.admin, (node.topic,), reset)
            settings = self._server.settings
            connection = Connection(settings.bootstrap_servers, CONNECT_S, settings.client)
            with TopicReader(connection, starts) as reader:
                self._pump(node, channel, reader)
        except Exception as raised:
            error = StatementError(str(raised), f"PRINT '{node.topic}';", code=50000)
        channel.end(error)

    def _pump(self, node: s.PrintTopic, channel: RowChannel, reader: TopicReader) -> None:
        seen, printed, every = 0, 0, node.interval or 1
        while not channel.closed.is_set():
            chosen = []
            for record in reader.poll(POLL_S):
                if seen % every == 0 and (node.limit is None or printed < node.limit):
                    chosen.append(record)
                    printed += 1
                seen += 1
            if chosen and not channel.put(chosen):
                return
            if node.limit is not None and printed >= node.limit:
                return


def described(record: RawRecord, shown: set[str]) -> list[str]:
    """The lines of a record; what its formats seem to be stands before the first one of each."""
    key_format, key = guessed(record.key)
    value_format, value = guessed(record.value)
    lines = []
    for name, found in (("Key", key_format), ("Value", value_format)):
        line = f"{name} format: {found}\n"
        if line not in shown and found:
            shown.add(line)
            lines.append(line)
    time = _time(record.timestamp)
    lines.append(f"rowtime: {time}, key: {key}, value: {value}, partition: {record.partition}\n")
    return lines


def guessed(data: bytes | None) -> tuple[str, str]:
    """The name of a format that fits, and the data as text."""
    if data is None:
        return "", "<null>"
    if data[:1] == b"\x00" and len(data) > HEADER_BYTES:
        return "AVRO, JSON_SR or PROTOBUF", data.hex()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        value: Any = None
        try:
            value = parse(data)
        except FormatError:
            return "KAFKA_STRING", text
        return (
            ("JSON or KAFKA_STRING", json_text(value))
            if isinstance(value, dict | list)
            else ("KAFKA_STRING", text)
        )
    if len(data) == 4:
        return "KAFKA_INT", str(int.from_bytes(data, "big", signed=True))
    if len(data) == 8:
        return "KAFKA_BIGINT or KAFKA_DOUBLE", str(int.from_bytes(data, "big", signed=True))
    return "UNKNOWN", data.hex()


def _time(millis: int) -> str:
    days, rest = divmod(millis, DAY_MS)
    clock = f"{rest // 3_600_000:02d}:{rest // 60_000 % 60:02d}:{rest // 1000 % 60:02d}.{rest % 1000:03d}"
    return f"{date_text(days).replace('-', '/')} {clock} Z"
