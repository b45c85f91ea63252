"""librdkafka's errors become exceptions whose sentence names the value and the fix."""

from __future__ import annotations

import pytest

from penstock.client import errors
from penstock.client.librdkafka import Connection


def translated(name: str, text: str = "it failed.") -> errors.ClientError:
    from confluent_kafka import KafkaError, KafkaException

    connection = Connection("127.0.0.1:9092", 5.0)
    error = KafkaException(KafkaError(getattr(KafkaError, name), text))
    return connection.error(error, "create topic 'orders'", "orders")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_TRANSPORT", errors.BrokerUnreachable),
        ("_ALL_BROKERS_DOWN", errors.BrokerUnreachable),
        ("_TIMED_OUT", errors.BrokerUnreachable),
        ("_MSG_TIMED_OUT", errors.BrokerUnreachable),
        ("UNKNOWN_TOPIC_OR_PART", errors.TopicNotFound),
        ("TOPIC_ALREADY_EXISTS", errors.TopicExists),
        ("TOPIC_EXCEPTION", errors.InvalidValue),
        ("INVALID_REPLICATION_FACTOR", errors.InvalidValue),
        ("INVALID_CONFIG", errors.InvalidValue),
        ("MSG_SIZE_TOO_LARGE", errors.InvalidValue),
        ("UNSUPPORTED_VERSION", errors.Unsupported),
        ("NOT_CONTROLLER", errors.BrokerRefused),
    ],
)
def test_each_kafka_error_has_its_exception(name: str, kind: type[errors.ClientError]) -> None:
    assert type(translated(name)) is kind


def test_every_listed_name_is_one_that_librdkafka_has() -> None:
    from confluent_kafka import KafkaError

    listed = errors.UNREACHABLE | errors.NOT_FOUND | errors.INVALID.keys() | errors.UNSUPPORTED
    assert [name for name in sorted(listed) if not hasattr(KafkaError, name)] == []


def test_an_unreachable_broker_is_named_with_its_address_and_what_to_check() -> None:
    sentence = str(translated("_TRANSPORT"))
    assert "127.0.0.1:9092" in sentence
    assert "5 s" in sentence
    assert "Check that the broker runs" in sentence


def test_the_broker_s_own_words_are_kept_with_one_full_stop() -> None:
    sentence = str(translated("INVALID_CONFIG", "Unknown topic config name: foo."))
    assert "Unknown topic config name: foo. Check the names" in sentence


def test_another_error_keeps_kafka_s_name_for_programs() -> None:
    error = translated("NOT_CONTROLLER")
    assert isinstance(error, errors.BrokerRefused)
    assert error.kafka_code == "NOT_CONTROLLER"


def test_the_reason_of_a_failed_connection_is_cut_to_its_core() -> None:
    from confluent_kafka import KafkaError

    connection = Connection("localhost:1", 1.0)
    complaint = (
        "localhost:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: "
        "Connection refused (after 0ms in state CONNECT)"
    )
    connection.settings()["error_cb"](KafkaError(KafkaError._TRANSPORT, complaint))
    assert connection.reason == "Connection refused"


def test_empty_bootstrap_servers_are_refused() -> None:
    with pytest.raises(errors.InvalidValue, match="HOST:PORT"):
        Connection(" ", 1.0)
