"""Delays double, deaths are counted within a window, and a service that dies too often is given up."""

from __future__ import annotations

from penstock.platform.process import Service
from penstock.platform.restarts import DEATHS_MAX, WINDOW_S, Restarts


def test_delays_double_until_the_service_is_given_up() -> None:
    restarts = Restarts()
    assert [restarts.delay_after_death(float(at)) for at in range(DEATHS_MAX)] == [0.5, 1, 2, 4, None]


def test_deaths_long_ago_do_not_count() -> None:
    restarts = Restarts()
    for at in range(DEATHS_MAX - 1):
        restarts.delay_after_death(float(at))
    assert restarts.delay_after_death(WINDOW_S + 10) == 0.5


def test_a_service_is_started_again_at_the_address_that_it_had() -> None:
    service = Service("x", ("-m", "x", "--listen", "127.0.0.1:0", "--more"), 1, 1)
    assert service.at_address("127.0.0.1:4711").arguments == (
        "-m",
        "x",
        "--listen",
        "127.0.0.1:4711",
        "--more",
    )
    assert service.at_address("http://127.0.0.1:80").arguments[3] == "127.0.0.1:80"
    script = Service("y", ("script.py",), 1, 1)
    assert script.at_address("whatever it said") is script
