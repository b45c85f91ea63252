"""Settings of the proxy: Confluent's names, checked before anything starts."""

from __future__ import annotations

import pytest

from penstock.rest.config import RestSettings
from penstock.settings.errors import SettingError


def test_settings_of_kafka_clients_go_to_those_they_are_for() -> None:
    found = RestSettings.from_texts(
        {
            "schema.registry.url": "http://one:8081,http://two:8081",
            "consumer.request.timeout.ms": "500",
            "client.security.protocol": "SSL",
            "producer.linger.ms": "5",
            "consumer.auto.offset.reset": "earliest",
        }
    )
    assert found.consumer_request_timeout_ms == 500
    assert found.client == {"security.protocol": "SSL"}
    assert found.producer == {"linger.ms": "5"}
    assert found.consumer == {"auto.offset.reset": "earliest"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("nonesuch", "1"), ("consumer.threads", "0"), ("fetch.min.bytes", "many"), ("request.timeout.ms", "-1")],
)
def test_what_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        RestSettings.from_texts({name: value})
