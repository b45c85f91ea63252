"""Warnings about bad connections do not fill the log."""

from __future__ import annotations

import pytest

from penstock.server.connections.complaints import MOST, PERIOD_SECONDS, Complaints
from tests.coordinator.manual_clock import ManualClock


def test_the_first_of_a_period_are_written_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    complaints = Complaints(clock)
    for number in range(MOST + 5):
        complaints.warn("1.2.3.4", f"problem {number}")
    assert len(caplog.messages) == MOST
    assert caplog.messages[0] == "connection from 1.2.3.4 closed: problem 0"
    complaints.tick()
    assert len(caplog.messages) == MOST
    clock.ms += PERIOD_SECONDS * 1000
    complaints.tick()
    assert caplog.messages[MOST:] == ["5 more connections were closed for such reasons, without a line each"]
    complaints.warn("1.2.3.4", "another")
    clock.ms += PERIOD_SECONDS * 1000
    complaints.tick()
    assert caplog.messages[MOST + 1 :] == ["connection from 1.2.3.4 closed: another"]


def test_a_failure_of_ours_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(ManualClock())
    try:
        raise ValueError("broken")
    except ValueError:
        complaints.error("1.2.3.4")
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.levelname == "ERROR"
