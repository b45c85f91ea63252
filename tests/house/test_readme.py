"""The README's examples do what it says, against a real broker."""

from __future__ import annotations

import pytest

from penstock.testing import Broker
from tests.house.sources import ROOT
from tests.house.test_documents import FENCE

PROMISED_ADDRESS = "127.0.0.1:9092"


def example(word: str) -> str:
    """The one Python example of the README that contains `word`."""
    blocks = [
        text for language, text in FENCE.findall((ROOT / "README.md").read_text()) if language == "python"
    ]
    (found,) = [text for text in blocks if word in text]
    return str(found)


def test_any_kafka_client_reads_what_it_wrote(
    penstock_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    source = example("confluent_kafka")
    assert PROMISED_ADDRESS in source
    exec(source.replace(PROMISED_ADDRESS, penstock_broker.bootstrap_servers), {})
    assert capsys.readouterr().out == "b'hello'\n"


def test_a_broker_runs_inside_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    exec(example("penstock.testing"), {})
    assert capsys.readouterr().out.startswith("127.0.0.1:")
