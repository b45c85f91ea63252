"""Calls of Kafka Connect's REST API in their order, to be made of any worker; and answers without what
differs between any two workers: addresses, times, traces, and the versions and lists of what is installed."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PATIENCE_S = 240.0
Ask = Callable[[str, str, Any], tuple[int, Any]]


class Call(NamedTuple):
    method: str
    path: str
    body: Any = None
    until: Callable[[int, Any], bool] | None = None
    """The call is repeated until this holds."""

    @property
    def text(self) -> str:
        return f"{self.method} {self.path} {self.body!r:.300}"


def played(calls: Iterator[Call], ask: Ask) -> Iterator[tuple[Call, int, Any]]:
    """Every call with its answer."""
    for call in calls:
        deadline = time.monotonic() + PATIENCE_S
        status, body = _patiently(ask, call, deadline)
        while call.until is not None and not call.until(status, body):
            assert time.monotonic() < deadline, (call.text, status, body)
            time.sleep(0.1)
            status, body = ask(call.method, call.path, call.body)
        yield call, status, plain(body)


def _patiently(ask: Ask, call: Call, deadline: float) -> tuple[int, Any]:
    """Kafka answers 409 while it rebalances, which says nothing about the call."""
    while True:
        status, body = ask(call.method, call.path, call.body)
        passing = status == 409 and isinstance(body, dict) and "rebalance" in str(body.get("message"))
        if not passing or time.monotonic() > deadline:
            return status, body
        time.sleep(0.2)


def in_state(connector: str, *tasks: str) -> Callable[[int, Any], bool]:
    """The connector and exactly these tasks are in these states."""

    def reached(status: int, body: Any) -> bool:
        if status != 200:
            return False
        states = [task["state"] for task in body["tasks"]]
        return body["connector"]["state"] == connector and states == list(tasks)

    return reached


def gone(status: int, _body: Any) -> bool:
    return status == 404


def has_offsets(_status: int, body: Any) -> bool:
    return bool(body["offsets"])


def non_empty(_status: int, body: Any) -> bool:
    return bool(body)


ADDRESS = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")


def plain(body: Any) -> Any:
    """Without what is this worker's own."""
    if isinstance(body, dict):
        if str(body.get("name")).endswith("plugin.version"):
            body = {**body, **{each: "its own" for each in ("default_value", "value") if body.get(each)}}
        return {name: _plain_member(name, value) for name, value in body.items()}
    if isinstance(body, list):
        found = [plain(each) for each in body]
        # The settings of a converter stand in no order of their own.
        return sorted(found, key=_place) if found and all(_place(each) for each in found) else found
    return ADDRESS.sub("HERE", body) if isinstance(body, str) else body


def _place(each: Any) -> str:
    return str(each["definition"]["name"]) if isinstance(each, dict) and "definition" in each else ""


def _plain_member(name: str, value: Any) -> Any:
    if name in ("worker_id", "version", "commit", "kafka_cluster_id", "last_modified", "generation"):
        return "its own"
    if name == "trace":
        return "a trace"
    if name in ("documentation", "recommended_values"):
        return type(value).__name__
    if name == "groups":
        return sorted(value)
    if name == "errors":
        return [re.sub(r"Invalid regex: .*", "Invalid regex: …", each, flags=re.DOTALL) for each in value]
    if name == "message" and isinstance(value, str):
        # Lists of what is installed, and Jackson's places in the text of JSON, are the worker's own.
        value = re.sub(r"available connectors are: .*", "available connectors are: …", value, flags=re.DOTALL)
        value = re.sub(r"\n at \[Source.*", "", value, flags=re.DOTALL)
        value = re.sub(r"Invalid regex: .*", "Invalid regex: …", value, flags=re.DOTALL)
        value = re.sub(r"config \{(.*?)\}", lambda found: f"config {sorted(found[1].split(', '))}", value)
    return plain(value)


def script(folder: str, *, data: bool) -> Iterator[Call]:
    """`folder` is where the connectors' files are. With `data` there is `in.txt` with two lines; without, no
    connector has anything to do."""
    yield from _worker()
    yield from _mistakes(folder)
    yield from _life_of_a_source(folder, data=data)
    yield from _life_of_a_sink(folder, data=data)
    yield from _offsets(folder, data=data)
    yield from _initial_states(folder)
    if data:
        yield from _failures(folder)
    yield from _loggers()


def source(folder: str, **more: str) -> dict[str, str]:
    own = {name.replace("__", "$").replace("_", "."): value for name, value in more.items()}
    return {"connector.class": SOURCE, "file": f"{folder}/in.txt", "topic": "lines", **own}


def sink(folder: str, **more: str) -> dict[str, str]:
    own = {name.replace("_", "."): value for name, value in more.items()}
    return {"connector.class": SINK, "file": f"{folder}/out.txt", "topics": "lines", **own}


def _worker() -> Iterator[Call]:
    yield Call("GET", "/")
    yield Call("GET", "/health")
    yield Call("GET", "/connectors")
    yield Call("GET", "/connectors?expand=status")
    yield Call("GET", "/nowhere")
    yield Call("DELETE", "/")
    yield Call("DELETE", "/connectors")
    yield Call("PUT", "/connectors", {})
    yield Call("POST", "/connectors/x/config", {})
    yield Call("GET", "/connectors/x/nowhere")
    for path in (
        "",
        "/config",
        "/status",
        "/tasks",
        "/tasks-config",
        "/tasks/0/status",
        "/topics",
        "/offsets",
    ):
        yield Call("GET", f"/connectors/none{path}")
    for path in ("pause", "resume", "stop", "topics/reset"):
        yield Call("PUT", f"/connectors/none/{path}")
    for path in ("restart", "restart?includeTasks=true", "restart?onlyFailed=true", "tasks/0/restart"):
        yield Call("POST", f"/connectors/none/{path}")
    yield Call("DELETE", "/connectors/none")
    yield Call("DELETE", "/connectors/none/offsets")
    yield Call(
        "PATCH", "/connectors/none/offsets", {"offsets": [{"partition": {"a": 1}, "offset": {"b": 1}}]}
    )
    yield Call("PATCH", "/connectors/none/config", {"a": "b"})
    for name in (SOURCE, SINK, "FileStreamSource", "NoSuchPlugin",
                 "org.apache.kafka.connect.transforms.MaskField$Value",
                 "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
                 "org.apache.kafka.connect.json.JsonConverter",
                 "org.apache.kafka.connect.storage.SimpleHeaderConverter",
                 "org.apache.kafka.connect.transforms.RegexRouter"):  # fmt: skip
        yield Call("GET", f"/connector-plugins/{name}/config")


def _mistakes(folder: str) -> Iterator[Call]:
    good = source(folder)
    for body in (
        b"{", b"", b"[]", b'"x"', b"null", b"{}", b'{"name": "a"}', b'{"config": {}}',
        b'{"name": "a", "config": {}}',
        b'{"name": 1, "config": 2}', b'{"name": "a", "config": {"x": [1]}}', b'{"nam": "a", "config": {}}',
        b'{"name": "a", "config": {"x": 1, "y": true, "w": 1.5}}', b'{"name": "a"} trailing',
    ):  # fmt: skip
        yield Call("POST", "/connectors", body)
    for body in (b"{", b"", b"[]", b"null", b"{}", b'{"x": {"y": 1}}', b'{"tasks.max": 1}'):
        yield Call("PUT", "/connectors/a/config", body)
        yield Call("PATCH", "/connectors/a/config", body)
        yield Call("PUT", "/connector-plugins/FileStreamSource/config/validate", body)
        yield Call("PATCH", "/connectors/a/offsets", body)
        yield Call("PUT", "/admin/loggers/root", body)
    yield Call("POST", "/connectors", {"name": "a", "config": good, "initial_state": "SLEEPING"})
    yield Call("POST", "/connectors", {"name": "a", "config": good, "initial_state": "running!"})
    yield Call("POST", "/connectors", {"name": "a", "config": {**good, "name": "b"}})
    yield Call("POST", "/connectors", {"name": "", "config": good})
    yield Call("POST", "/connectors", {"name": " ", "config": good})
    yield Call("POST", "/connectors", {"name": "a\u0007b", "config": good})
    yield Call("POST", "/connectors", {"name": "a", "config": {**good, "connector.class": "NoSuch"}})
    yield Call("POST", "/connectors", {"name": "a", "config": {**good, "tasks.max": "many"}})
    yield Call("POST", "/connectors", {"name": "a", "config": {"connector.class": SOURCE}})
    yield Call("PUT", "/connectors/a/config", {**good, "name": "b"})
    yield Call("PUT", "/connectors/a/config", {**good, "tasks.max": "0", "batch.size": "x"})
    for name in ("FileStreamSource", SOURCE, "FileStreamSourceConnector", "FileStreamSink", "NoSuch"):
        yield Call("PUT", f"/connector-plugins/{name}/config/validate", good)
    for config in _configs(folder):
        kind = "FileStreamSink" if config["connector.class"] == SINK else "FileStreamSource"
        yield Call("PUT", f"/connector-plugins/{kind}/config/validate", config)
    yield Call("GET", "/connectors")


def _configs(folder: str) -> Iterator[dict[str, str]]:
    """To be validated, most of them with mistakes."""
    good, drain = source(folder, name="v"), sink(folder, name="v")
    yield good
    yield {**good, "tasks.max": "many", "errors.tolerance": "some", "config.action.reload": "never"}
    yield {**good, "topic": "", "batch.size": "0"}
    yield {"connector.class": SOURCE}
    yield {
        "connector.class": SOURCE,
        "name": "v",
        "topic": "t",
        "file": f"{folder}/x",
        "key.converter": "NoSuch",
    }
    yield {**good, "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    yield {**good, "value.converter": "org.apache.kafka.connect.json.JsonConverter",
           "value.converter.schemas.enable": "maybe"}  # fmt: skip
    yield {**good, "key.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
    yield {**good, "transforms": "a,a"}
    yield {**good, "transforms": "a"}
    yield {**good, "transforms": "a", "transforms.a.type": "NoSuch"}
    yield {
        **good,
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    }
    yield {**good, "transforms": "a", "transforms.a.fields": "x", "transforms.a.replacement": "y",
           "transforms.a.type": "org.apache.kafka.connect.transforms.MaskField$Value"}  # fmt: skip
    yield {**good, "transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.RegexRouter",
           "transforms.a.regex": "(.*)", "transforms.a.replacement": "x-$1", "transforms.a.predicate": "p",
           "transforms.a.negate": "yes", "predicates": "p"}  # fmt: skip
    matches = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    yield {**good, "predicates": "p", "predicates.p.pattern": "x.*", "predicates.p.type": matches}
    yield {**good, "exactly.once.support": "perhaps"}
    yield {**good, "transaction.boundary": "connector"}
    yield {**good, "transaction.boundary": "sometimes", "transaction.boundary.interval.ms": "0"}
    yield {**good, "topic.creation.groups": "g"}
    yield {**good, "topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}
    yield {
        **good,
        "topic.creation.default.partitions": "0",
        "topic.creation.default.replication.factor": "-3",
    }
    yield {**good, "offsets.storage.topic": ""}
    yield {
        **good,
        "errors.retry.timeout": "-2",
        "errors.retry.delay.max.ms": "x",
        "errors.log.enable": "perhaps",
    }
    yield drain
    yield {name: value for name, value in drain.items() if name != "topics"}
    yield {**drain, "topics.regex": "x.*"}
    yield {**drain, "topics": "", "topics.regex": "("}
    yield {**drain, "errors.deadletterqueue.topic.name": "lines"}
    yield {
        **drain,
        "errors.deadletterqueue.topic.name": "dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }


def _life_of_a_source(folder: str, *, data: bool) -> Iterator[Call]:
    config = source(folder)
    yield Call("POST", "/connectors", {"name": "in", "config": config})
    yield Call("POST", "/connectors", {"name": "in", "config": config})
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    if data:
        yield Call("GET", "/connectors/in/topics", until=lambda _s, body: bool(body["in"]["topics"]))
        yield Call("GET", "/connectors/in/offsets", until=has_offsets)
    for path in (
        "",
        "/config",
        "/tasks",
        "/tasks-config",
        "/tasks/0/status",
        "/tasks/1/status",
        "/tasks/x/status",
    ):
        yield Call("GET", f"/connectors/in{path}")
    yield Call("GET", "/connectors")
    yield Call("GET", "/connectors?expand=status&expand=info")
    yield Call("GET", "/connectors?expand=info")
    yield Call("GET", "/connectors?expand=nothing")
    yield Call("PUT", "/connectors/in/config", {**config, "batch.size": "100"})
    yield Call(
        "GET", "/connectors/in/tasks", until=lambda _s, body: body and "batch.size" in body[0]["config"]
    )
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call(
        "PATCH", "/connectors/in/config", {"batch.size": None, "header.converter": None, "tasks.max": "2"}
    )
    yield Call(
        "GET", "/connectors/in/tasks", until=lambda _s, body: body and "tasks.max" in body[0]["config"]
    )
    yield Call("PATCH", "/connectors/in/config", {"tasks.max": "x"})
    yield Call("GET", "/connectors/in/config")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("PUT", "/connectors/in/pause")
    yield Call("GET", "/connectors/in/status", until=in_state("PAUSED", "PAUSED"))
    yield Call("PUT", "/connectors/in/pause")
    yield Call("POST", "/connectors/in/restart?includeTasks=true")
    yield Call("GET", "/connectors/in/status", until=in_state("PAUSED", "PAUSED"))
    yield Call("PUT", "/connectors/in/resume")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("POST", "/connectors/in/restart")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("POST", "/connectors/in/restart?onlyFailed=true")
    yield Call("POST", "/connectors/in/restart?includeTasks=true&onlyFailed=true")
    yield Call("POST", "/connectors/in/restart?includeTasks=true")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("POST", "/connectors/in/restart?includeTasks=perhaps")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("POST", "/connectors/in/tasks/0/restart")
    yield Call("POST", "/connectors/in/tasks/7/restart")
    yield Call("POST", "/connectors/in/tasks/x/restart")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("PUT", "/connectors/in/topics/reset")
    yield Call("GET", "/connectors/in/topics", until=lambda _s, body: not body["in"]["topics"])
    yield Call("PUT", "/connectors/in/stop")
    yield Call("GET", "/connectors/in/status", until=in_state("STOPPED"))
    for path in ("", "/tasks", "/tasks-config", "/tasks/0/status"):
        yield Call("GET", f"/connectors/in{path}")
    yield Call("POST", "/connectors/in/restart")
    yield Call("PUT", "/connectors/in/pause")
    yield Call("GET", "/connectors/in/status", until=lambda _s, body: body["connector"]["state"] == "PAUSED")
    yield Call("PUT", "/connectors/in/resume")
    yield Call("GET", "/connectors/in/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("DELETE", "/connectors/in")
    yield Call("GET", "/connectors/in/status", until=gone)
    yield Call("GET", "/connectors/in/offsets")
    yield Call("DELETE", "/connectors/in")
    strange = "a%20b%3F%C3%A4"
    yield Call("PUT", f"/connectors/{strange}/config", config)
    yield Call("GET", f"/connectors/{strange}/status", until=in_state("RUNNING", "RUNNING"))
    yield Call("GET", f"/connectors/{strange}")
    yield Call("DELETE", f"/connectors/{strange}")
    yield Call("GET", f"/connectors/{strange}/status", until=gone)


def _life_of_a_sink(folder: str, *, data: bool) -> Iterator[Call]:
    yield Call("PUT", "/connectors/out/config", sink(folder, tasks_max="1"))
    yield Call("GET", "/connectors/out/status", until=in_state("RUNNING", "RUNNING"))
    if data:
        yield Call("GET", "/connectors/out/offsets", until=has_offsets)
        yield Call("GET", "/connectors/out/topics", until=lambda _s, body: bool(body["out"]["topics"]))
    for path in ("", "/config", "/tasks"):
        yield Call("GET", f"/connectors/out{path}")
    yield Call("DELETE", "/connectors/out/offsets")
    yield Call("PATCH", "/connectors/out/offsets", {"offsets": [{"partition": {"a": 1}, "offset": None}]})
    yield Call("PUT", "/connectors/out/stop")
    yield Call("GET", "/connectors/out/status", until=in_state("STOPPED"))
    place = {"kafka_topic": "lines", "kafka_partition": 0}
    for partition, offset in (
        ({}, {"kafka_offset": 0}), ({"kafka_topic": "lines"}, {"kafka_offset": 0}), (place, {}),
        (place, {"offset": 1}),
        (place, {"kafka_offset": "x"}), (place, {"kafka_offset": -1}),
        ({"kafka_topic": "lines", "kafka_partition": "x"}, {"kafka_offset": 1}),
        ({"kafka_topic": "lines", "kafka_partition": -1}, {"kafka_offset": 1}),
        (None, {"kafka_offset": 1}), (place, {"kafka_offset": 1}), (place, {"kafka_offset": "0"}),
        (place, None),
    ):  # fmt: skip
        yield Call(
            "PATCH", "/connectors/out/offsets", {"offsets": [{"partition": partition, "offset": offset}]}
        )
        yield Call("GET", "/connectors/out/offsets")
    yield Call(
        "PATCH", "/connectors/out/offsets", {"offsets": [{"partition": place, "offset": {"kafka_offset": 1}}]}
    )
    yield Call("DELETE", "/connectors/out/offsets")
    yield Call("GET", "/connectors/out/offsets")
    yield Call("DELETE", "/connectors/out")
    yield Call("GET", "/connectors/out/status", until=gone)


def _offsets(folder: str, *, data: bool) -> Iterator[Call]:
    yield Call("PUT", "/connectors/at/config", source(folder, topic="at"))
    yield Call("GET", "/connectors/at/status", until=in_state("RUNNING", "RUNNING"))
    if data:
        yield Call("GET", "/connectors/at/offsets", until=has_offsets)
    yield Call("DELETE", "/connectors/at/offsets")
    place = {"filename": f"{folder}/in.txt"}
    change = {"offsets": [{"partition": place, "offset": {"position": 4}}]}
    yield Call("PATCH", "/connectors/at/offsets", change)
    yield Call("PUT", "/connectors/at/stop")
    yield Call("GET", "/connectors/at/status", until=in_state("STOPPED"))
    for body in (
        {}, {"offsets": []}, {"offsets": None}, {"offsets": [{}]}, {"offsets": [None]}, {"offsets": "x"},
        {"offsets": [{"partition": place}]}, {"offsets": [{"offset": {"position": 1}}]}, {"unknown": 1},
        {"offsets": [{"partition": place, "offset": {"position": -1}}]},
        {"offsets": [{"partition": place, "offset": {"position": "x"}}]},
        {"offsets": [{"partition": place, "offset": {"place": 1}}]},
        {"offsets": [{"partition": {"file": "x"}, "offset": {"position": 1}}]},
        {"offsets": [{"partition": place, "offset": {"position": each}} for each in (1, 2)]},
        change, {"offsets": [{"partition": place, "offset": None}]}, change,
    ):  # fmt: skip
        yield Call("PATCH", "/connectors/at/offsets", body)
        yield Call("GET", "/connectors/at/offsets")
    yield Call("DELETE", "/connectors/at/offsets")
    yield Call("GET", "/connectors/at/offsets")
    yield Call("DELETE", "/connectors/at/offsets")
    yield Call("DELETE", "/connectors/at")


def _initial_states(folder: str) -> Iterator[Call]:
    for state, tasks in (("STOPPED", ()), ("PAUSED", ()), ("RUNNING", ("RUNNING",))):
        body = {"name": state, "config": source(folder, topic="states"), "initial_state": state}
        yield Call("POST", "/connectors", body)
        yield Call("GET", f"/connectors/{state}/status", until=in_state(state, *tasks))
        yield Call("DELETE", f"/connectors/{state}")
    body = {"name": "low", "config": source(folder, topic="states"), "initial_state": "stopped"}
    yield Call("POST", "/connectors", body)
    yield Call("GET", "/connectors/low/status", until=in_state("STOPPED"))
    yield Call("DELETE", "/connectors/low")


def _failures(folder: str) -> Iterator[Call]:
    bad = source(folder, topic="failing", transforms="c", transforms_c_spec="int32",
                 transforms_c_type="org.apache.kafka.connect.transforms.Cast$Value")  # fmt: skip
    yield Call("POST", "/connectors", {"name": "bad", "config": bad})
    yield Call("GET", "/connectors/bad/status", until=in_state("RUNNING", "FAILED"))
    yield Call("GET", "/connectors/bad/tasks/0/status")
    yield Call("GET", "/connectors?expand=status")
    yield Call("POST", "/connectors/bad/restart?onlyFailed=true")
    yield Call("POST", "/connectors/bad/restart?includeTasks=true&onlyFailed=true")
    yield Call("GET", "/connectors/bad/status", until=in_state("RUNNING", "FAILED"))
    yield Call("POST", "/connectors/bad/tasks/0/restart")
    yield Call("GET", "/connectors/bad/status", until=in_state("RUNNING", "FAILED"))
    yield Call("PUT", "/connectors/bad/pause")
    yield Call("GET", "/connectors/bad/status", until=lambda _s, body: body["connector"]["state"] == "PAUSED")
    yield Call("DELETE", "/connectors/bad")
    yield Call("GET", "/connectors/bad/status", until=gone)


def _loggers() -> Iterator[Call]:
    yield Call("GET", "/admin/loggers/no.such.logger")
    for level in ("debug", "LOUD", "WARN", "TRACE", "OFF", "ERROR"):
        yield Call("PUT", "/admin/loggers/some.logger", {"level": level})
        yield Call("GET", "/admin/loggers/some.logger")
    yield Call("PUT", "/admin/loggers/some.logger.below", {"level": "INFO"})
    yield Call("PUT", "/admin/loggers/some.logger", {"level": "WARN"})
    yield Call("GET", "/admin/loggers/some.logger.below")
    yield Call("PUT", "/admin/loggers/some.logger", {})
    yield Call("PUT", "/admin/loggers/some.logger", {"level": 1})
    yield Call("PUT", "/admin/loggers/other.logger?scope=cluster", {"level": "INFO"})
    yield Call("PUT", "/admin/loggers/some.logger?scope=galaxy", {"level": "INFO"})
    yield Call("PUT", "/admin/loggers/some.logger?scope=worker", {"level": "INFO"})
    yield Call("PUT", "/admin/loggers/some.logger?scope=cluster", {"level": "LOUD"})
