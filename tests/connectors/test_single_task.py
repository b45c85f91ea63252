"""What the only task of a source does inside Spark, without Spark: it writes in the driver's transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.client.admin import Admin
from penstock.connect.pipeline.rows import PlainRows, Row
from penstock.connect.worker.spark_jobs import plain_to_arrow, to_arrow
from penstock.records.codecs import Codec
from penstock.security.client_settings import ClientSettings
from penstock.spark import connecting
from penstock.spark.options import WriteOptions
from penstock.testing.broker import Broker
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.transactions import TransactionOwner
from tests.peers.topic_reader import read_topic


def work(number: int) -> Iterator[Any]:
    yield plain_to_arrow(PlainRows("alone-lines", [b"a", b"b"]))
    yield to_arrow(
        [Row("alone-other", None, b"k", b"v", (("h", b"1"),), 5), Row("alone-lines", 0, None, None)]
    )
    yield b"note %d" % number


@pytest.mark.parametrize("commits", [True, False])
def test_rows_are_there_when_the_driver_commits_and_not_when_it_aborts(broker: Broker, commits: bool) -> None:
    servers = broker.bootstrap_servers
    admin = Admin(servers)
    for name in ("alone-lines", "alone-other"):
        admin.create_topic(name)
    owner = TransactionOwner(Cluster.of(ClientSettings(servers)), "source", timeout_ms=60_000)
    owner.fence(Deadline(30))
    options = WriteOptions(ClientSettings(servers), None, Codec.NONE, 30.0)
    task = connecting._sending(work, owner.begin(Deadline(30)), options)
    [told] = task(iter([pa.RecordBatch.from_pydict({"id": [0]})]))
    assert told.column("note").to_pylist() == [b"note 0"]
    assert read_topic(servers, "alone-lines") == []
    (owner.commit if commits else owner.abort)(Deadline(30))
    found = [(each.key(), each.value(), each.headers()) for each in read_topic(servers, "alone-other")]
    assert found == ([(b"k", b"v", [("h", b"1")])] if commits else [])
    lines = [each.value() for each in read_topic(servers, "alone-lines")]
    assert lines == ([b"a", b"b", None] if commits else [])
    for name in ("alone-lines", "alone-other"):
        admin.delete_topic(name)
