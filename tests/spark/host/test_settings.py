"""Settings of applications: Kafka's names, and a sentence for what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.failures import FailureLetters, fail_processing, skip_processing
from penstock.plan.raw_records import DeadLetters, fail, skip
from penstock.spark.host.settings import SettingError, host_settings


def test_the_defaults_are_those_of_kafka_streams() -> None:
    settings = host_settings({})
    assert settings.exactly_once
    assert settings.reset == "earliest"
    assert settings.session_timeout_ms == 45_000
    assert settings.on_bad_record is fail
    assert settings.on_failure is fail_processing
    assert not settings.emit_every_update


def test_kafkas_names_are_understood(tmp_path: Path) -> None:
    given = {
        "processing.guarantee": "at_least_once",
        "statestore.cache.max.bytes": "0",
        "deserialization.exception.handler": "org.apache.kafka.streams.errors.LogAndContinueExceptionHandler",
        "replication.factor": "3",
    }
    settings = host_settings(given, tmp_path)
    assert not settings.exactly_once
    assert settings.emit_every_update
    assert settings.on_bad_record is skip
    assert settings.replication_factor == 3
    assert settings.state_dir == tmp_path
    handler = "processing.exception.handler"
    kafkas = "org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler"
    assert host_settings({handler: kafkas}).on_failure is skip_processing
    letters_too = {handler: "skip", "errors.dead.letter.queue.topic.name": "letters"}
    assert host_settings(letters_too).on_failure == FailureLetters("letters")
    letters = host_settings({"errors.dead.letter.queue.topic.name": "letters"}).on_bad_record
    assert letters == DeadLetters("letters")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("processing.guarantee", "sometimes"),
        ("processing.exception.handler", "hope"),
        ("auto.offset.reset", "middle"),
        ("session.timeout.ms", "long"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        host_settings({name: value})
