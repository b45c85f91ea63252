"""What is told of a record: proved by headers, batches and offsets, or named as unknown."""

from __future__ import annotations

import asyncio

from penstock.client.metadata import GroupInfo, PartitionLag
from penstock.client.paging import Message
from penstock.console.cluster_values import WrittenIn
from penstock.console.fake_backend import FakeBackend
from penstock.console.following import Followed, headers_of, origin_of, tell, trace_id
from penstock.console.following_search import Descendant, descendants, judge
from penstock.console.group_stats import AllGroups, GroupStats, PartitionStats
from penstock.console.pipelines import Pipeline

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01".encode()
RECORD = Message("orders", 1, 7, 1_000, "CreateTime", b"k", b"v", (("traceparent", PARENT),))
BATCH = WrittenIn(5, 4, 300, "lz4", 2, 11, 0, True, "connect-cluster-lines-0")
QUERY = Pipeline("CSAS_1", "query", "RUNNING", ("orders",), ("big",), href="/sql", group="g-CSAS_1")
LINES = Pipeline("lines", "connector", "RUNNING", (), ("orders",), href="/connectors/lines")
SECOND = Pipeline("CSAS_2", "query", "RUNNING", ("big",), ("bigger",), group="g-CSAS_2")


def group(name: str, committed: int) -> GroupStats:
    info = GroupInfo(name, "Stable", "consumer", False, "range", None, ())
    return GroupStats(info, (PartitionStats(PartitionLag("orders", 1, committed, 100, None), None),))


def told(message: Message = RECORD, batch: WrittenIn | None = BATCH) -> Followed:
    groups = AllGroups((group("g-CSAS_1", 8), group("late", 3)))
    return tell(message, batch, groups, (QUERY, LINES, SECOND))


def test_the_source_is_the_trace_the_transactional_id_and_the_pipeline_behind_it() -> None:
    found = told()
    assert found.trace_id == TRACE
    said = {clue.what: clue for clue in reversed(found.source)}
    assert said["Producer"].sentence == "Transactional id connect-cluster-lines-0, which is connector lines"
    assert said["Producer"].page == "/connectors/lines"
    assert said["Batch"].sentence.startswith("Written with 3 other records from offset 5")
    assert (said["Pipeline"].state, said["Pipeline"].page) == ("maybe", "/connectors/lines")


def test_readers_have_passed_it_or_not() -> None:
    by_name = {clue.what: clue for clue in told().readers}
    assert by_name["Query CSAS_1"].state == "yes"
    assert by_name["Group late"].sentence == "Has not passed it yet: 4 records before it"


def test_the_topics_downstream_are_followed_through_pipelines() -> None:
    assert told().written_to == ["big", "bigger"]


def test_what_is_not_known_is_said() -> None:
    bare = RECORD._replace(headers=())
    unknown = told(bare, None).unknown
    assert any("batch could not be read" in sentence for sentence in unknown)
    assert any("no traceparent" in sentence for sentence in unknown)
    assert any("client id" in sentence for sentence in told().unknown)


def test_an_origin_is_read_from_headers_and_from_dead_letters() -> None:
    assert origin_of({"penstock.origin": "a/3/12"}) == ("a", 3, 12)
    assert origin_of({"penstock.origin": "a/x/12"}) is None
    letter = {f"__connect.errors.{name}": value for name, value in
              (("topic", "orders"), ("partition", "1"), ("offset", "7"))}  # fmt: skip
    assert origin_of(letter) == ("orders", 1, 7)
    assert trace_id(RECORD._replace(headers=(("traceparent", b"nonsense"),))) == ""
    assert headers_of(RECORD._replace(headers=(("a", None),))) == {"a": ""}


def test_a_record_is_judged_by_header_trace_and_key() -> None:
    other = Message("big", 0, 1, 2_000, "CreateTime", b"other", b"", ())
    assert judge(RECORD, other) is None
    by_key = judge(RECORD, other._replace(key=b"k"))
    assert by_key is not None
    assert not by_key.proved
    by_trace = judge(RECORD, other._replace(headers=(("traceparent", PARENT),)))
    assert by_trace is not None
    assert by_trace.why == "the same trace"
    by_name = judge(RECORD, other._replace(headers=(("penstock.origin", b"orders/1/7"),)))
    assert by_name is not None
    assert by_name.proved


def test_records_made_from_it_are_found_in_the_topics_downstream() -> None:
    backend = FakeBackend()
    backend.add_topic("big", 2)
    backend.append("big", b"", b"k", (("penstock.origin", b"orders/1/7"),), partition=1)
    backend.append("big", b"", b"somebody else's")

    async def found() -> list[Descendant]:
        steps = descendants(backend, RECORD, ["gone", "big"])
        return [each async for step in steps for each in step.found]

    (made,) = asyncio.run(found())
    assert (made.message.partition, made.proved) == (1, True)
