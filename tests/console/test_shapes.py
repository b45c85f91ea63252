"""The JSON of the API."""

from __future__ import annotations

import pytest

from penstock.client.metadata import ConfigEntry, TopicDetail, TopicInfo
from penstock.console.shapes import format_timestamp, topic_detail_shape


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, str(2**62)),
    ],
)
def test_timestamps_are_utc_and_never_fail(timestamp_ms: int | None, text: str | None) -> None:
    assert format_timestamp(timestamp_ms) == text


def test_the_value_of_a_sensitive_setting_is_never_shown() -> None:
    secret = ConfigEntry("sasl.jaas.config", "hunter2", False, True, "DYNAMIC_TOPIC_CONFIG")
    shape = topic_detail_shape(TopicDetail(TopicInfo("t", ()), (secret,)))
    assert shape["configs"][0]["value"] is None
