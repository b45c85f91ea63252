"""Records to Delta tables, one for each topic. A batch is one commit of its table, and the offsets after it
are part of the commit (`txn` actions, one for each partition of the topic). A commit of a task that was
thought dead meets the same `txn` and is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import non_empty, one_of
from penstock.connect.api.guards import allowed_address, allowed_path
from penstock.connect.api.refusals import Mistakes, unsupported
from penstock.connect.api.retries import Retries, retry_keys
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.connectors.files.places import KEYS, place_mistakes
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError, RetriableError
from penstock.protocol.topic_partition import TopicPartition

_MEDIUM, _LOW = Importance.MEDIUM, Importance.LOW
_NAME: Final = re.compile(r"[A-Za-z0-9._=+-]+(/[A-Za-z0-9._=+-]+)*")
CONFIG: Final = (
    ConfigDef()
    .plus(KEYS)
    .define(
        "table.name.format", Kind.STRING, "${topic}", importance=_MEDIUM, validator=non_empty,
        doc="The folder of a table below the store; ${topic} is the topic.",
    )
    .define("partition.fields", Kind.LIST, [], importance=_MEDIUM, doc="Fields that tables are divided by.")
    .define(
        "schema.evolution", Kind.BOOLEAN, True, importance=_MEDIUM,
        doc="Whether new fields become columns. Otherwise records with other fields fail.",
    )
    .define(
        "behavior.on.null.values", Kind.STRING, "fail", importance=_LOW, validator=one_of("fail", "ignore"),
        doc="What a record without a value does: fail, or ignore.",
    )
    .plus(retry_keys(5, 200))
)  # fmt: skip
UNSUPPORTED: Final = {"hdfs.url": "Delta tables are written to directories and buckets."}


class DeltaSinkTask(SinkTask):
    def __init__(self, config: Mapping[str, str]) -> None:
        super().__init__(config)
        self._given = CONFIG.parse(config)
        self._retries = Retries(self._given["max.retries"], self._given["retry.backoff.ms"])
        self._root, self._options = _store(config, self._given)
        self._name = config.get("name", "delta")
        self._waiting: dict[str, list[ConnectRecord]] = {}
        self._tables: dict[str, Any] = {}
        self._known: dict[str, int] = {}

    def stored_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        found = {}
        for place in partitions:
            table = self._retries.run(lambda topic=place.topic: self._opened(topic))  # type: ignore[misc]
            known = None if table is None else table.transaction_version(self._app(place))
            if known is not None:
                found[place] = self._known[self._app(place)] = int(known)
        return found

    def _app(self, place: TopicPartition) -> str:
        return f"{self._name}/{place.topic}/{place.partition}"

    def _opened(self, topic: str) -> Any:
        """The table as it is now, or none. A later commit is compared with what it was then."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if topic not in self._tables:
            with _errors():
                try:
                    self._tables[topic] = DeltaTable(self._uri(topic), storage_options=self._options)
                except TableNotFoundError:
                    return None
        return self._tables[topic]

    def _uri(self, topic: str) -> str:
        name = self._given["table.name.format"].replace("${topic}", topic)
        if not _NAME.fullmatch(name) or any(part in (".", "..") for part in name.split("/")):
            raise DataError(f"{name!r} is no name of a table")
        return f"{self._root}/{name}"

    def put(self, records: Sequence[ConnectRecord]) -> None:
        for record in records:
            if record.value is None and self._given["behavior.on.null.values"] == "ignore":
                continue
            if not isinstance(record.value, (Struct, dict)):
                self.reject(record, DataError("the value has no fields, which a row needs"))
                continue
            self._waiting.setdefault(record.topic, []).append(record)

    def flush(self, ends: Mapping[TopicPartition, int]) -> None:
        for topic in sorted({place.topic for place in ends}):
            records = self._waiting.pop(topic, [])
            if records:  # without records there is nothing to commit, and the group keeps the offsets
                own = {place: end for place, end in ends.items() if place.topic == topic}
                self._commit(topic, records, own)

    def _commit(self, topic: str, records: list[ConnectRecord], ends: Mapping[TopicPartition, int]) -> None:
        from deltalake import CommitProperties, Transaction, write_deltalake

        rows = arrow_table(records)
        marks = [Transaction(self._app(place), end) for place, end in sorted(ends.items())]
        options: dict[str, Any] = {
            "mode": "append", "partition_by": self._given["partition.fields"] or None,
            "schema_mode": "merge" if self._given["schema.evolution"] else None,
            "commit_properties": CommitProperties(app_transactions=marks, max_commit_retries=3),
        }  # fmt: skip

        def attempt() -> None:
            table = self._opened(topic)
            if table is not None and self._is_done(table, marks):
                return  # the answer of an earlier attempt was lost
            target = {"storage_options": self._options} if table is None else {}
            try:
                with _errors():
                    write_deltalake(self._uri(topic) if table is None else table, rows, **target, **options)
            except RetriableError:
                self._tables.pop(topic, None)
                raise
            except ConnectError as error:
                if table is None:  # another task has made it meanwhile
                    raise RetriableError(str(error)) from error
                raise

        self._retries.run(attempt)

    def _is_done(self, table: Any, marks: Sequence[Any]) -> bool:
        found = {each.app_id: table.transaction_version(each.app_id) for each in marks}
        if found == {each.app_id: each.version for each in marks}:
            return True
        if any(version != self._known.get(app) for app, version in found.items()):
            raise ConnectError("another task has written these partitions meanwhile")
        return False


def arrow_table(records: Sequence[ConnectRecord]) -> Any:
    """Records of several schemas in one table: a field that some do not have is null there."""
    import pyarrow as pa

    from penstock.connect.connectors.files.arrow_schemas import arrow_type
    from penstock.connect.connectors.files.formats import plain_row

    parts, start = [], 0
    for end in range(1, len(records) + 1):
        if end < len(records) and records[end].value_schema == records[start].value_schema:
            continue
        schema = records[start].value_schema
        typed = None
        if schema is not None:
            typed = pa.schema([(each.name, arrow_type(each.schema)) for each in schema.fields])
        try:
            parts.append(pa.Table.from_pylist([plain_row(each) for each in records[start:end]], schema=typed))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise DataError(f"the records do not fit into one table: {error}") from error
        start = end
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"the schemas of the records do not fit together: {error}") from error


def _store(config: Mapping[str, str], given: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    url = given["store.url"]
    parts = urlsplit(url)
    if not given["s3.bucket.name"]:
        return str(allowed_path(config, parts.path)), {}
    options = {"AWS_REGION": given["s3.region"], "conditional_put": "etag"}
    if url:
        allowed_address(url)
        options |= {"AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": str(parts.scheme == "http").lower()}
    if given["aws.access.key.id"]:
        options["AWS_ACCESS_KEY_ID"] = given["aws.access.key.id"]
        options["AWS_SECRET_ACCESS_KEY"] = given["aws.secret.access.key"] or ""
    return f"s3://{given['s3.bucket.name']}", options


@contextmanager
def _errors() -> Iterator[None]:
    from deltalake import exceptions as delta

    try:
        yield
    except delta.TableNotFoundError:
        raise
    except delta.CommitFailedError as error:
        raise ConnectError(f"another task has written this table meanwhile: {error}") from error
    except delta.SchemaMismatchError as error:
        raise DataError(f"the records do not fit the table: {error}") from error
    except OSError as error:
        raise RetriableError(f"the store of the table: {error}") from error
    except delta.DeltaError as error:
        raise ConnectError(f"Delta: {error}") from error


class DeltaSink(SinkConnector):
    NAMES: ClassVar = ("penstock.DeltaLakeSinkConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = DeltaSinkTask
    GUARANTEE: ClassVar = "exactly once: the offsets are part of the commit that adds the rows"

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = unsupported(config, UNSUPPORTED) + place_mistakes(config)
        if str(config.get("store.url") or "").startswith("hdfs://"):
            found.append(("store.url", UNSUPPORTED["hdfs.url"]))
        if find_spec("deltalake") is None:
            found.append(("connector.class", "deltalake is not installed: pip install 'penstock[delta]'"))
        return found
