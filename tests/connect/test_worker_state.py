"""What a worker keeps in its topics, what it shows, and what it does not let connectors do."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connect.api import ConfigDef, Kind
from penstock.connect.api.guards import ALLOWED_PATHS, Forbidden, allowed_address, allowed_path
from penstock.connect.api.sink import SinkConnector
from penstock.connect.api.test_kit import run_sink, run_source
from penstock.connect.config.validation import Defaults, validate
from penstock.connect.errors import ConnectError
from penstock.connect.plugins import Plugin, UnknownConnector, load_plugins
from penstock.connect.worker import layout
from penstock.connect.worker.secrets import merged_secrets, without_secrets
from penstock.connect.worker.settings import read_settings
from penstock.connect.worker.state import read_connectors, read_statuses
from penstock.connect.worker.task_states import TaskStates
from penstock.settings.errors import SettingError

JSON = "org.apache.kafka.connect.json.JsonConverter"
DEFAULTS = Defaults(JSON, JSON, "org.apache.kafka.connect.storage.SimpleHeaderConverter")


def test_what_is_written_is_what_kafka_connect_writes() -> None:
    assert layout.connector("a", {"x": "y"}) == (b"connector-a", b'{"properties":{"x":"y"}}')
    assert layout.task("a", 0, {"x": "y"}) == (b"task-a-0", b'{"properties":{"x":"y"}}')
    assert layout.commit("a", 1) == (b"commit-a", b'{"tasks":1}')
    assert layout.target("a", "STOPPED") == (b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}')
    told = b'{"topic":{"name":"t","connector":"a","task":0,"discoverTimestamp":5}}'
    assert layout.topic_status("a", "t", 0, 5) == (b"status-topic-t:connector-a", told)


def test_a_cluster_of_kafka_connect_is_taken_over() -> None:
    found = read_connectors(
        {
            b"session-key": b'{"key":"x"}',
            b"connector-src": b'{"properties":{"connector.class":"X","name":"src"}}',
            b"task-src-0": b'{"properties":{"task.class":"T"}}',
            b"task-src-1": b'{"properties":{"task.class":"T"}}',
            b"commit-src": b'{"tasks":1}',
            b"target-state-src": b'{"state":"PAUSED","state.v2":"STOPPED"}',
            b"connector-gone": None,
            b"target-state-old": b'{"state":"PAUSED"}',
            b"connector-old": b'{"properties":{}}',
        }
    )
    assert {name: (c.target, len(c.tasks)) for name, c in found.items()} == {
        "src": ("STOPPED", 1),
        "old": ("PAUSED", 0),
    }


def test_statuses_and_topics_are_read_back() -> None:
    found = read_statuses(
        dict(
            [
                layout.connector_status("a", {"state": "RUNNING"}),
                layout.task_status("a-b", 3, {"state": "FAILED", "trace": "why"}),
                layout.topic_status("a", "t", 1, 5),
                layout.connector_status("gone", None),
            ]
        )
    )
    assert found.connectors == {"a": {"state": "RUNNING"}}
    assert found.tasks == {"a-b": {3: {"state": "FAILED", "trace": "why"}}}
    assert found.topics == {"a": {"t": 1}}


def test_offsets_of_other_connectors_and_other_programs_are_passed_over() -> None:
    values = {
        b'["a",{"f":1}]': b'{"p":2}',
        b'["b",{"f":1}]': b'{"p":3}',
        b"junk": b"x",
        b'["a",{"f":2}]': None,
    }
    assert layout.read_offsets(values, "a") == [({"f": 1}, {"p": 2})]


class Secretive(SinkConnector):
    CONFIG = ConfigDef().define("pin", Kind.PASSWORD, None)


def test_secrets_are_not_shown_and_survive_being_written_back() -> None:
    plugin = Plugin("x", Secretive, "")
    config = {"pin": "1234", "db.password": "hunter2", "connection.url": "pg://me:pw@host/db", "user": "me",
              "token": "${file:/run/s:token}"}  # fmt: skip
    shown = without_secrets(config, plugin)
    assert shown == {
        "pin": "[hidden]", "db.password": "[hidden]", "connection.url": "pg://me:[hidden]@host/db",
        "user": "me", "token": "${file:/run/s:token}",
    }  # fmt: skip
    assert merged_secrets({**shown, "user": "you"}, config) == {**config, "user": "you"}


def test_a_path_outside_of_what_is_allowed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to("/etc")
    config = {ALLOWED_PATHS: str(tmp_path / "in")}
    assert allowed_path(config, str(tmp_path / "in" / "a.txt"))
    for path in ("/etc/passwd", f"{tmp_path}/in/../b", f"{tmp_path}/in/link/passwd", f"{tmp_path}/inside"):
        with pytest.raises(Forbidden):
            allowed_path(config, path)
    with pytest.raises(Forbidden, match="no directory is allowed"):
        allowed_path({}, "/srv/a")


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/"]
)
def test_the_address_of_a_clouds_credentials_is_refused(url: str) -> None:
    with pytest.raises(Forbidden):
        allowed_address(url)


def test_a_file_outside_of_what_is_allowed_is_a_mistake_of_the_configuration() -> None:
    plugin = load_plugins().find("FileStreamSource")
    config = {"name": "a", "connector.class": "FileStreamSource", "file": "/etc/passwd", "topic": "t"}
    [error] = validate(plugin, config, DEFAULTS).errors
    assert "may not open /etc/passwd" in error


def test_mistakes_of_transforms_converters_and_topics_stand_at_their_settings() -> None:
    config = {
        "name": "a", "connector.class": "FileStreamSink", "file": "/srv/x", ALLOWED_PATHS: "/srv",
        "value.converter": "Nope", "transforms": "h,n", "transforms.h.type": "HoistField$Value",
        "transforms.n.type": "Nope", "predicates": "p", "predicates.p.type": "HasHeaderKey",
        "penstock.restart.max": "-1", "errors.tolerance": "some",
    }  # fmt: skip
    found = validate(load_plugins().find("FileStreamSink"), config, DEFAULTS)
    named = {value.key.name: value.errors for value in found.values if value.errors}
    assert named == {
        "value.converter": [
            "Invalid value Nope for configuration value.converter: Class Nope could not be found."
        ],
        "transforms.h.field": [
            'Missing required configuration "transforms.h.field" which has no default value.'
        ],
        "transforms.n.type": [
            "Invalid value Nope for configuration transforms.n.type: Class Nope could not be found."
        ],
        "predicates.p.name": [
            'Missing required configuration "predicates.p.name" which has no default value.'
        ],
        "topics": ["Must configure one of topics or topics.regex"],
        "topics.regex": ["Must configure one of topics or topics.regex"],
        "errors.tolerance": [
            "Invalid value some for configuration errors.tolerance: String must be one of: none, all"
        ],
        "penstock.restart.max": [
            "Invalid value -1 for configuration penstock.restart.max: Value must be at least 0"
        ],
    }


PLUGIN = """
from penstock.connect.api import ConfigDef, ConnectRecord, Kind, SourceConnector, SourceRecord, SourceTask


class CounterTask(SourceTask):
    def poll(self):
        last = (self.offsets.get({"counter": 1}) or {"n": 0})["n"]
        numbers = range(last + 1, min(last + 3, int(self.config["until"])) + 1)
        return [SourceRecord({"counter": 1}, {"n": n}, ConnectRecord("numbers", value=n)) for n in numbers]


class Counter(SourceConnector):
    NAMES = ("org.example.CounterConnector",)
    CONFIG = ConfigDef().define("until", Kind.INT)
    TASK = CounterTask
"""


def test_a_connector_in_a_folder_is_found_by_any_of_its_names_and_runs_in_the_test_kit(
    tmp_path: Path,
) -> None:
    (tmp_path / "counting.py").write_text(PLUGIN)
    plugins = load_plugins(str(tmp_path))
    for name in ("org.example.CounterConnector", "CounterConnector", "Counter"):
        assert plugins.find(name).kind == "source"
    counter = plugins.find("Counter").connector
    emitted = run_source(counter, {"until": "5"}, polls=3)  # type: ignore[arg-type]
    assert [each.record.value for each in emitted] == [1, 2, 3, 4, 5]
    later = run_source(counter, {"until": "5"}, [({"counter": 1}, {"n": 4})])  # type: ignore[arg-type]
    assert [each.offset for each in later] == [{"n": 5}]


def test_a_folder_that_is_not_there_and_a_file_that_fails_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="is no folder"):
        load_plugins(str(tmp_path / "none"))
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(ConnectError, match=r"broken\.py cannot be loaded: division by zero"):
        load_plugins(str(tmp_path))
    with pytest.raises(UnknownConnector, match="which name matches Nope"):
        load_plugins().find("Nope")


def test_the_sink_of_files_runs_in_the_test_kit(tmp_path: Path) -> None:
    from penstock.connect.api import ConnectRecord

    config = {"file": str(tmp_path / "out"), ALLOWED_PATHS: str(tmp_path)}
    found = load_plugins().find("FileStreamSink").connector
    records = [ConnectRecord("t", 0, value=text, offset=at) for at, text in enumerate("ab")]
    run_sink(found, config, records)  # type: ignore[arg-type]
    run_sink(found, config, [*records, ConnectRecord("t", 0, value="c", offset=2)])  # type: ignore[arg-type]
    assert (tmp_path / "out").read_text() == "a\nb\nc\n"


def test_a_failed_task_starts_again_by_policy_with_a_delay_that_doubles() -> None:
    states = TaskStates(restarts_max=2, delay_s=10.0)
    states.fail(0, now=0.0)
    assert (states.due(9.0), states.due(10.0)) == ([], [0])
    states.fail(0, now=20.0)
    assert (states.due(39.0), states.due(40.0)) == ([], [0])
    states.fail(0, now=50.0)
    assert states.due(10_000.0) == []
    states.restart(0)
    assert not states.failures


def test_a_batch_that_succeeds_forgets_the_failures_before_it_and_no_rest_is_longer_than_a_minute() -> None:
    states = TaskStates(restarts_max=1000, delay_s=0.3)
    for _ in range(20):
        states.fail(0, now=0.0)
        assert states.due(60.0) == [0]
    states.succeed(0)
    states.fail(0, now=0.0)
    assert (states.due(0.2), states.due(0.3)) == ([], [0])
    assert TaskStates(1, delay_s=600.0).rest_s(5) == 600.0


def test_settings_of_a_worker_are_kafkas() -> None:
    found = read_settings(
        {"bootstrap.servers": "b:1", "group.id": "g", "key.converter": "StringConverter",
         "listeners": "http://0.0.0.0:9", "status.storage.partitions": "2", "spark.executor.cores": "1"}
    )  # fmt: skip
    assert (found.group_id, found.listen, found.partitions["connect-status"]) == ("g", ("0.0.0.0", 9), 2)
    assert found.defaults.key_converter == "org.apache.kafka.connect.storage.StringConverter"
    assert found.spark == {"spark.executor.cores": "1"}
    assert (found.allowed_paths, read_settings({}, distributed=False).allowed_paths) == ("", "/")
    for wrong in ({"key.converter": "Nope"}, {"listeners": "https://x"}, {"session.timeout.ms": "a"}):
        with pytest.raises(SettingError):
            read_settings(wrong)
