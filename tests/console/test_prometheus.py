"""Pages for Prometheus, and rates between two of them."""

from __future__ import annotations

from penstock.console.broker_stats import measured
from penstock.console.prometheus import broker_metrics, parse

PAGE = """# HELP x y
kafka_server_brokertopicmetrics_bytesinpersec_count {bytes}
kafka_server_brokertopicmetrics_bytesinpersec_count{{topic="or\\"ders"}} 5
kafka_network_requestmetrics_requestspersec_count{{request="Produce"}} {requests}
kafka_network_requestmetrics_totaltimems{{request="Produce",quantile="0.99"}} 7.5
kafka_network_requestmetrics_totaltimems{{request="Produce",quantile="0.5"}} NaN
kafka_server_socket_server_metrics_connection_count 3
not a line
"""


def page(sent: int, requests: int) -> str:
    return PAGE.format(bytes=sent, requests=requests)


def test_samples_have_names_labels_and_values() -> None:
    samples = list(parse(page(100, 10)))
    assert samples[1].labels == {"topic": 'or"ders'}
    assert [sample.value for sample in samples] == [100, 5, 10, 7.5, 3]


def test_rates_are_what_came_between_two_looks() -> None:
    first, second = broker_metrics("a", page(100, 10)), broker_metrics("a", page(300, 30))
    traffic = measured(2, {"a": (10.0, first)}, {"a": (20.0, second)})
    assert (traffic.configured, traffic.answering) == (2, 1)
    assert traffic.bytes_in == 20.0
    assert traffic.connections == 3
    produce = traffic.api("Produce")
    assert produce is not None
    assert (produce.per_second, produce.count, produce.p99_ms, produce.median_ms) == (2.0, 30, 7.5, None)


def test_the_first_look_and_a_broker_that_began_anew_have_no_negative_rate() -> None:
    new = broker_metrics("a", page(50, 5))
    assert measured(1, {}, {"a": (1.0, new)}).bytes_in is None
    assert measured(1, {"a": (0.0, broker_metrics("a", page(500, 50)))}, {"a": (1.0, new)}).bytes_in == 0.0
