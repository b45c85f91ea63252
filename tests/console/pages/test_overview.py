"""The overview page: health, and what needs attention with where it is mended."""

from __future__ import annotations

from penstock.console.fake_backend import FakeBackend
from penstock.console.recorder import Recorder
from tests.console.conftest import Visit, Visitor


def test_health_at_a_glance(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-partitions") == "8")
        assert visitor.text("fact-brokers") == "1"
        assert visitor.text("fact-controller") == "Broker 1"
        assert (visitor.text("fact-offline"), visitor.text("fact-under-replicated")) == ("0", "0")
        await visitor.user.should_see("Nothing. All partitions have their leader")

    visit("/", body)


def test_a_partition_without_a_leader_is_named_and_then_no_more(visit: Visit, backend: FakeBackend) -> None:
    backend.lose_replicas("orders", leader=None)

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("orders: 3 partitions without a leader", retries=50)
        backend.restore_replicas("orders")
        await visitor.user.should_see("Nothing. All partitions", retries=50)

    visit("/", body)


def test_a_disk_that_fills_is_named(visit: Visit, backend: FakeBackend) -> None:
    backend.usable_bytes = 50

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("the disk of /data is 95 % full", retries=50)

    visit("/", body)


def test_nothing_is_said_to_be_well_while_the_cluster_is_away(visit: Visit, backend: FakeBackend) -> None:
    backend.unreachable = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("Not known while the cluster does not answer", retries=50)
        await visitor.user.should_not_see("Nothing. All partitions")

    visit("/", body)


def test_the_recorder_keeps_what_the_charts_show(visit: Visit, backend: FakeBackend) -> None:
    backend.commit("billing", "orders", 0, 1)

    async def body(visitor: Visitor) -> None:
        recorder = Recorder(visitor.services, 0.05)
        recorder.start()
        history = visitor.services.history
        await visitor.until(lambda: len(history.moments) > 2)
        assert history.series(["group billing lag"])["group billing lag"][-1] == 1
        assert "records/s" in history.series(["records/s"])
        await recorder.close()

    visit("/", body)
