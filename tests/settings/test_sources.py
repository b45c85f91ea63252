"""File, environment and command line, and which of them wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.settings import BrokerSettings, Listener, SettingError
from penstock.settings.sources import from_environment, parse_assignment


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=2\nmessage.max.bytes=10\nadvertised.listeners=PLAINTEXT://far:1\n")
    return str(path)


def test_the_command_line_beats_the_environment_which_beats_the_file(file: str) -> None:
    environment = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_MESSAGE_MAX_BYTES": "20"}
    assert BrokerSettings.load(file, {}, {}).num_partitions == 2
    assert BrokerSettings.load(file, {}, environment).num_partitions == 3
    settings = BrokerSettings.load(file, {"num.partitions": "4"}, environment)
    assert (settings.num_partitions, settings.message_max_bytes) == (4, 20)


def test_listening_elsewhere_than_the_file_forgets_what_the_file_advertises(file: str) -> None:
    assert BrokerSettings.load(file, {}, {}).advertised_listeners == (Listener("PLAINTEXT", "far", 1),)
    elsewhere = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    assert BrokerSettings.load(file, elsewhere, {}).advertised_listeners == ()
    environment = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://near:2"}
    settings = BrokerSettings.load(file, elsewhere, environment)
    assert settings.advertised_listeners == (Listener("PLAINTEXT", "near", 2),)


def test_variables_are_named_as_in_kafkas_images() -> None:
    environment = {
        "KAFKA_LOG_DIRS": "/data",
        "KAFKA_SOME__SETTING": "a",
        "KAFKA_SOME___SETTING": "b",
        "KAFKA_OPTS": "-Dx -Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://a,https://b -Xmx1g",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "PATH": "/bin",
    }
    assert from_environment(environment) == {
        "log.dirs": "/data",
        "some_setting": "a",
        "some-setting": "b",
        "org.apache.kafka.sasl.oauthbearer.allowed.urls": "https://a,https://b",
    }


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"Cannot read the settings file .*: No such file or directory"):
        BrokerSettings.load(str(tmp_path / "none"), {}, {})
    broken = tmp_path / "broken"
    broken.write_text("a=\\u1")
    with pytest.raises(SettingError, match="line 1"):
        BrokerSettings.load(str(broken), {}, {})


def test_an_assignment_is_split_at_its_first_equals_sign() -> None:
    assert parse_assignment("a.b=c=d") == ("a.b", "c=d")
    for wrong in ("a.b", "=c", ""):
        with pytest.raises(SettingError, match="name=value"):
            parse_assignment(wrong)
