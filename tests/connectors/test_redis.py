"""Redis sink and stream source against Debian's redis-server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connect.api import ConnectRecord
from penstock.connect.api.source import SourceOffsets
from penstock.connect.api.test_kit import run_sink, run_source
from penstock.connect.config.validation import Defaults
from penstock.connect.connectors.redis.commands import Writing
from penstock.connect.connectors.redis.sink import RedisSink
from penstock.connect.connectors.redis.source import RedisStreamSource
from penstock.connect.data import schema as s
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConnectError, DataError, RetriableError
from penstock.connect.pipeline.rows import Row
from penstock.connect.pipeline.sink_work import SinkBatch
from penstock.protocol.topic_partition import TopicPartition
from tests.connectors.servers import Redis

USER = s.struct_schema({"name": s.STRING, "age": s.INT32.as_optional(), "tags": s.array_schema(s.STRING)})
PLACE = TopicPartition("users", 0)


@pytest.fixture(scope="module")
def server() -> Iterator[Redis]:
    running = Redis()
    yield running.start()
    running.close()


@pytest.fixture
def redis(server: Redis) -> Any:
    found = server.client()
    found.flushall()
    return found


def settings(server: Redis, **more: str) -> dict[str, str]:
    config = {
        "redis.uri": server.url, "redis.password": "secret", "max.retries": "3", "retry.backoff.ms": "50",
    }  # fmt: skip
    return config | {name.replace("_", "."): value for name, value in more.items()}


def user(offset: int, key: Any, value: Any = None, **fields: Any) -> ConnectRecord:
    made = Struct(USER, fields) if fields else value
    return ConnectRecord("users", 0, key, None, made, USER if fields else None, offset=offset)


def test_hashes_are_written_replaced_and_deleted(server: Redis, redis: Any) -> None:
    config = settings(server, redis_command="HSET")
    run_sink(
        RedisSink, config, [user(0, "a", name="Ann", age=7, tags=["x"]), user(1, "b", name="Bo", tags=[])]
    )
    assert redis.hgetall("users:a") == {"name": "Ann", "age": "7", "tags": '["x"]'}
    run_sink(RedisSink, config, [user(2, "a", name="Ann", tags=[]), user(3, "b")])
    assert redis.hgetall("users:a") == {"name": "Ann", "tags": "[]"}
    assert not redis.exists("users:b")


def test_each_type_has_its_command(server: Redis, redis: Any) -> None:
    run_sink(RedisSink, settings(server, redis_type="STRING", redis_key="s"), [user(0, "k", "v")])
    assert redis.get("s:k") == "v"
    redis.flushall()
    run_sink(
        RedisSink, settings(server, redis_type="LIST", redis_key="l"), [user(0, "a", 1), user(1, "b", 1)]
    )
    assert redis.lrange("l", 0, -1) == ["a", "b"]
    redis.flushall()
    added = [user(0, "a", 1), user(1, "a", 1), user(2, "b", 1), user(3, "b")]
    run_sink(RedisSink, settings(server, redis_command="SADD"), added)
    assert redis.smembers("users") == {"a"}
    redis.flushall()
    run_sink(RedisSink, settings(server, redis_command="ZADD"), [user(0, "a", 2.5), user(1, "b", "1")])
    assert redis.zrange("users", 0, -1, withscores=True) == [("b", 1.0), ("a", 2.5)]


def test_a_batch_that_comes_again_adds_nothing(server: Redis, redis: Any) -> None:
    config = settings(server)
    records = [user(number, None, {"n": number}) for number in range(5)]
    run_sink(RedisSink, config, records[:3])
    run_sink(RedisSink, config, records)
    assert [fields["n"] for _, fields in redis.xrange("users")] == list("01234")
    assert redis.get("penstock.connect.offset..users.0") == (
        '{"topic": "users", "partition": 0, "offset": 5}'
    )


def test_two_connectors_of_one_topic_do_not_share_their_offsets(server: Redis, redis: Any) -> None:
    records = [user(0, "a", 1), user(1, "b", 2)]
    run_sink(RedisSink, settings(server, name="one", redis_command="SADD", redis_key="one"), records)
    run_sink(RedisSink, settings(server, name="two", redis_command="SADD", redis_key="two"), records)
    assert redis.smembers("one") == redis.smembers("two") == {"a", "b"}


def test_a_task_that_was_thought_dead_writes_nothing(server: Redis, redis: Any) -> None:
    config = settings(server)
    late: Any = RedisSink.TASK(config)
    assert late.stored_offsets([PLACE]) == {}
    late.put([user(0, None, {"n": "late"})])
    run_sink(RedisSink, config, [user(0, None, {"n": 0}), user(1, None, {"n": 1})])
    with pytest.raises(ConnectError, match="another task"):
        late.flush({PLACE: 1})
    assert [fields["n"] for _, fields in redis.xrange("users")] == ["0", "1"]


def test_a_server_that_is_killed_in_a_batch_gets_it_once(server: Redis, redis: Any) -> None:
    task: Any = RedisSink.TASK(settings(server, max_retries="20", retry_backoff_ms="100"))
    task.stored_offsets([PLACE])
    task.put([user(0, None, {"n": 0})])
    server.kill()
    server.start()
    task.flush({PLACE: 1})
    assert redis.xlen("users") == 1


def test_an_answer_that_is_lost_is_looked_up(
    server: Redis, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    task: Any = RedisSink.TASK(settings(server))
    task.stored_offsets([PLACE])
    task.put([user(0, None, {"n": 0})])
    written = task._written

    def lost(after: Any) -> None:
        written(after)
        raise RetriableError("the answer was lost")

    monkeypatch.setattr(task, "_written", lost)
    task.flush({PLACE: 1})
    assert redis.xlen("users") == 1


def test_a_server_that_stays_away_is_a_passing_error(server: Redis) -> None:
    config = settings(server, redis_uri="redis://127.0.0.1:1", max_retries="1", retry_backoff_ms="1")
    with pytest.raises(RetriableError):
        run_sink(RedisSink, config, [user(0, None, {"n": 0})])
    with pytest.raises(ConnectError, match="refused the user") as refused:
        run_sink(RedisSink, settings(server, redis_password="canary"), [user(0, None, {"n": 0})])
    assert "canary" not in str(refused.value)


def test_records_that_cannot_be_written_become_dead_letters(server: Redis, redis: Any) -> None:
    text = "org.apache.kafka.connect.storage.StringConverter"
    config = settings(
        server, redis_command="ZADD", errors_tolerance="all", errors_deadletterqueue_topic_name="dead"
    )
    rows = [Row("users", 0, b"a", b"1", (), 0, 0), Row("users", 0, b"b", b"x", (), 0, 1)]
    batch = SinkBatch(
        "snk", "RedisSinkConnector", "", ((0, config, {PLACE: (0, 2)}),), Defaults(text, text, text)
    )
    dead: list[Row] = []
    batch.run(0, lambda _place, start, end: iter(rows[start:end]), dead.extend)
    assert [each.key for each in dead] == [b"b"]
    assert redis.zrange("users", 0, -1) == ["a"]


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [("HSET", "k", "text"), ("HSET", None, {"a": 1}), ("HSET", "k", {"a": None}), ("XADD", "k", {}),
     ("ZADD", "k", "nan"), ("ZADD", "k", {}), ("SADD", None, 1), ("SET", None, "v")],
)  # fmt: skip
def test_what_a_command_cannot_take_is_said(command: str, key: Any, value: Any) -> None:
    with pytest.raises(DataError):
        Writing(command, "${topic}", ":").command(user(0, key, value))


def test_a_stream_is_read_from_where_it_ended(server: Redis, redis: Any) -> None:
    config = settings(server, redis_stream_name="events", batch_size="2")
    for number in range(5):
        redis.xadd("events", {"n": number, "é": "ü"})
    first = run_source(RedisStreamSource, config)
    assert len(first) == 2
    reached = SourceOffsets().advanced([(each.partition, each.offset) for each in first])
    rest = run_source(RedisStreamSource, config, reached.items(), polls=5)
    bodies = [each.record.value.get("body") for each in (*first, *rest) if each.record is not None]
    assert bodies == [{"n": str(number), "é": "ü"} for number in range(5)]
    made = RedisStreamSource(config)
    ended = SourceOffsets().advanced([(each.partition, each.offset) for each in rest])
    assert made.has_news(reached)
    assert not made.has_news(ended)
    made.close()


def test_every_mistake_is_reported(server: Redis) -> None:
    bad = settings(server, redis_uri="http://x", redis_command="TSADD", redis_cluster_enabled="true")
    assert {name for name, _ in RedisSink.check(bad)} == {
        "redis.uri",
        "redis.command",
        "redis.cluster.enabled",
    }
    for uri in ("redis://169.254.169.254", "redis://user:secret@localhost"):
        assert [name for name, _ in RedisSink.check(settings(server, redis_uri=uri))] == ["redis.uri"]
    assert RedisSink.check(settings(server)) == []
    assert "redis.password" in RedisSink.CONFIG.secret
    refused = settings(server, redis_stream_name="s", redis_stream_consumer_group="g")
    assert [name for name, _ in RedisStreamSource.check(refused)] == ["redis.stream.consumer.group"]
