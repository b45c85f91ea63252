"""Version 3: producing. One record or a stream of them, answered one by one; or a small batch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any, Final

import msgspec

from penstock.client.errors import ClientError
from penstock.client.sending import Produced
from penstock.rest.config import RECORD_BYTES_MAX, STREAM_IDLE_S, STREAM_PENDING_MAX
from penstock.rest.errors import INVALID_BATCH, INVALID_PAYLOAD, RestError, bad_request, from_client
from penstock.rest.json_values import JsonValues, NotJson, ValueTooLarge
from penstock.rest.producing import Outcome, Together
from penstock.rest.proxy import Proxy
from penstock.rest.v3.lookup import check_cluster
from penstock.rest.v3.record_data import (
    LINE_END,
    Encoded,
    Plain,
    encode_plain,
    encode_record,
    iso_time,
    line_start,
    line_time,
)
from penstock.rest.v3.record_stream import RecordStream
from penstock.rest.v3.requests import Batch, BatchResult, Failure, ProduceRecord, Success, Written
from penstock.web import Answer, Call, HttpError
from penstock.web.errors import ErrorBody
from penstock.web.negotiation import PLAIN_JSON, check_consumed

_decoder: Final = msgspec.json.Decoder(ProduceRecord)


class ProduceRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def records(self, call: Call) -> RecordStream:
        """The first record is awaited before the answer begins, so that a body without any is an error."""
        check_consumed(call.request.headers.get("content-type", ""), PLAIN_JSON)
        cluster_id = await check_cluster(self._proxy, call)
        topic = call.path["topic_name"]
        values = json_values(call.request.stream())
        first = await anext(values, None)
        if first is None:
            raise RestError(INVALID_PAYLOAD, "Payload error. Request body is empty. Data is required.")

        async def all_values() -> AsyncIterator[list[bytes]]:
            yield first
            async for some in values:
                yield some

        producing = self._proxy.clients(call).producing

        start = line_start(cluster_id, topic)

        def produce_now(values: list[bytes]) -> tuple[int, Lines | None]:
            plain = list(_plain_ones(values))
            sent = producing.send_together(topic, [(each.value, each.key) for each in plain])
            taken = len(sent.outcomes)
            return taken, Lines(sent, start, plain) if taken else None

        async def produce(value: bytes) -> Waiting:
            return await self._produce(call, cluster_id, topic, value)

        return RecordStream(all_values(), produce_now, produce, STREAM_PENDING_MAX, STREAM_IDLE_S)

    async def batch(self, call: Call) -> Answer:
        body: Batch = call.body
        entries = body.entries
        if not entries:
            raise RestError(INVALID_BATCH, "Empty batch.")
        if len(entries) > self._proxy.settings.produce_batch_maximum_entries:
            raise RestError(INVALID_BATCH, "Too many entries in batch.")
        if any(not entry.id for entry in entries):
            raise RestError(INVALID_BATCH, "Batch entry identifier is not a valid string.")
        if len({entry.id for entry in entries}) < len(entries):
            raise RestError(INVALID_BATCH, "Batch entry IDs are not distinct.")
        cluster_id = await check_cluster(self._proxy, call)
        written = [
            await self._produce_record(call, cluster_id, call.path["topic_name"], entry) for entry in entries
        ]
        answers = [await future for future in written]
        result = BatchResult([], [])
        for entry, answer in zip(entries, answers, strict=True):
            _sort(entry.id, answer, result)
        return Answer(result, 207)

    async def _produce(self, call: Call, cluster_id: str, topic: str, value: bytes) -> Waiting:
        try:
            record = _decoder.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _done(ErrorBody(400, f"Bad Request: Error processing JSON: {error}"))
        return await self._produce_record(call, cluster_id, topic, record)

    async def _produce_record(
        self, call: Call, cluster_id: str, topic: str, record: ProduceRecord
    ) -> Waiting:
        """Done when the broker has answered, or at once when the record cannot be sent."""
        try:
            new, key, value = await encode_record(self._proxy, call, topic, record)
        except HttpError as error:
            return _done(ErrorBody(error.error_code, error.message))
        sent = await self._proxy.clients(call).producing.send(topic, new)
        return Sent(sent, cluster_id, topic, key, value)


class Sent:
    """A record on its way, and what its answer will say."""

    __slots__ = ("_about", "_outcome")

    def __init__(
        self, outcome: asyncio.Future[Outcome], cluster_id: str, topic: str, key: Encoded, value: Encoded
    ) -> None:
        self._outcome = outcome
        self._about = cluster_id, topic, key, value

    def done(self) -> bool:
        return self._outcome.done()

    def result(self) -> Written | ErrorBody:
        return _answer(self._outcome.result(), *self._about)

    def __await__(self) -> Generator[Any, None, Written | ErrorBody]:
        yield from self._outcome.__await__()
        return self.result()


class Lines:
    """Plain records on their way together, and the lines of their answers."""

    __slots__ = ("_plain", "_sent", "_start")

    def __init__(self, sent: Together, start: bytes, plain: list[Plain]) -> None:
        self._sent = sent
        self._start = start
        self._plain = plain

    def done(self) -> bool:
        return self._sent.future.done()

    def result(self) -> bytes:
        start = self._start
        return b"".join(
            _failed(outcome)
            if isinstance(outcome, ClientError)
            else b'%b%d,"offset":%d%b%b' % (start, outcome[0], outcome[1], line_time(outcome[2]), plain.end)
            for outcome, plain in zip(self._sent.outcomes, self._plain, strict=False)
        )

    def __await__(self) -> Generator[Any, None, bytes]:
        yield from self._sent.future.__await__()
        return self.result()


def _plain_ones(values: list[bytes]) -> Iterator[Plain]:
    """Up to the first value that is no plain record, or is wrong: the long way says what it is."""
    for value in values:
        try:
            made = encode_plain(_decoder.decode(value))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, HttpError):
            return
        if made is None:
            return
        yield made


def _failed(outcome: ClientError) -> bytes:
    error = from_client(outcome)
    return msgspec.json.encode(ErrorBody(error.error_code, error.message)) + LINE_END


Waiting = Sent | asyncio.Future[Written | ErrorBody]


async def json_values(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """The values in a body, those together that arrived together. Raises HttpError for what is none, and for
    what is too large, behind the values before it."""
    values = JsonValues(RECORD_BYTES_MAX)
    try:
        async for chunk in chunks:
            found: list[bytes] = []
            try:
                found.extend(values.feed(chunk))
            finally:
                if found:
                    yield found
        values.end()
    except NotJson as error:
        raise bad_request(f"Bad Request: Error processing JSON: {error}") from error
    except ValueTooLarge as error:
        raise RestError(413, f"A record is larger than {RECORD_BYTES_MAX} bytes.") from error


def _answer(
    outcome: Outcome, cluster_id: str, topic: str, key: Encoded, value: Encoded
) -> Written | ErrorBody:
    if isinstance(outcome, ClientError):
        error = from_client(outcome)
        return ErrorBody(error.error_code, error.message)
    assert isinstance(outcome, Produced)
    at = iso_time(outcome.timestamp_ms)
    return Written(200, cluster_id, topic, outcome.partition, outcome.offset, at, key.about, value.about)


def _sort(entry_id: str, answer: Written | ErrorBody, result: BatchResult) -> None:
    if isinstance(answer, ErrorBody):
        result.failures.append(Failure(entry_id, answer.code, answer.message))
        return
    place = (answer.cluster_id, answer.topic_name, answer.partition_id, answer.offset)
    result.successes.append(Success(entry_id, *place, answer.timestamp, answer.key, answer.value))


def _done(body: ErrorBody) -> asyncio.Future[Written | ErrorBody]:
    future: asyncio.Future[Written | ErrorBody] = asyncio.get_running_loop().create_future()
    future.set_result(body)
    return future
