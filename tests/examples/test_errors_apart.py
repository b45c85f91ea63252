"""Each event goes to exactly one topic, and what is no event to a topic with the reason."""

from __future__ import annotations

from penstock.streams import DeadLetters, TopologyTestDriver
from tests.examples.loading import load

errors_apart = load("errors_apart")


def test_errors_go_to_their_topic_and_the_rest_to_the_other() -> None:
    with TopologyTestDriver(errors_apart.topology()) as driver:
        for level in ("INFO", "ERROR", "WARN", "FATAL"):
            driver.pipe(errors_apart.EVENTS, "billing", {"level": level}, timestamp=1)
        errors = [record.value["level"] for record in driver.read(errors_apart.ERRORS)]
        routine = [record.value["level"] for record in driver.read(errors_apart.ROUTINE)]
    assert (errors, routine) == (["ERROR", "FATAL"], ["INFO", "WARN"])


def test_what_cannot_be_read_is_kept_with_the_reason_and_stops_nobody() -> None:
    driver = TopologyTestDriver(errors_apart.topology(), on_bad_record=DeadLetters(errors_apart.UNKNOWN))
    with driver:
        driver.pipe_raw(errors_apart.EVENTS, b"billing", b"{not JSON", timestamp=1)
        driver.pipe(errors_apart.EVENTS, "billing", {"level": "ERROR"}, timestamp=2)
        (letter,) = driver.read_raw(errors_apart.UNKNOWN)
        assert letter.value == b"{not JSON"
        assert dict(letter.headers)["__streams.errors.topic"] == b"log-events"
        assert len(driver.read(errors_apart.ERRORS)) == 1
