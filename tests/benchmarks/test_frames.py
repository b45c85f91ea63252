"""What the load generator sends is what a broker takes: frames, batches, and how answers are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.batches import batch_of
from benchmarks.generator import Generator, NoCompiler
from benchmarks.plan import Plan
from penstock.records.batch import check_crc, read_header
from penstock.records.codecs import Codec
from penstock.testing import Broker

TOPIC = "bench-smoke"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("batch_bytes", [1024, 16 * 1024])
def test_a_batch_has_about_the_size_asked_for_and_a_right_crc(batch_bytes: int, codec: Codec) -> None:
    batch = batch_of(100, batch_bytes, codec)
    assert 0.7 * batch_bytes < len(batch.data) <= batch_bytes
    header = read_header(batch.data)
    check_crc(batch.data, 0, header)
    assert (header.base_offset, header.records_count) == (0, batch.records)


def test_the_generator_writes_and_reads_and_measures_both(tmp_path: Path) -> None:
    try:
        generator = Generator(tmp_path)
    except NoCompiler as reason:
        pytest.skip(str(reason))
    batch = batch_of(100, 1024)
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for future in admin.create_topics([NewTopic(TOPIC, 2, 1)]).values():
            future.result(10)
        plan = Plan()
        for partition in range(2):
            plan.producer(TOPIC, [partition], batch, lane=partition, interval_ns=1_000_000)
            plan.consumer(TOPIC, partition, group=1, lane=partition)
        outcome = generator.run(plan, broker.bootstrap_servers, warm_ms=50, run_ms=300, max_bytes=10**9)
    produced, consumed = outcome.groups
    assert produced.requests > 10
    assert produced.records == produced.requests * batch.records
    assert produced.answered.count == produced.requests
    assert consumed.consumed.count > 10
    assert 0 < consumed.consumed.p50_ms <= consumed.consumed.p99_ms <= consumed.consumed.max_ms


def test_a_refusal_of_the_broker_ends_the_run_with_its_error_code(tmp_path: Path) -> None:
    try:
        generator = Generator(tmp_path)
    except NoCompiler as reason:
        pytest.skip(str(reason))
    plan = Plan()
    plan.producer("nonesuch", [0], batch_of(100, 1024))
    with Broker() as broker, pytest.raises(RuntimeError, match="error 3"):
        generator.run(plan, broker.bootstrap_servers, warm_ms=0, run_ms=100, max_bytes=10**9)
