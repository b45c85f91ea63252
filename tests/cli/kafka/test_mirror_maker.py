"""The words of `connect-mirror-maker`; what it runs is tested in tests/mirroring."""

from __future__ import annotations

import pytest

from penstock.cli.kafka.mirror_maker import USAGE, _read, mirror_maker
from penstock.cli.kafka.options import CommandFailed


@pytest.mark.parametrize(
    ("words", "clusters"),
    [
        (["mm2.properties"], []),
        (["mm2.properties", "--clusters", "B"], ["B"]),
        (["mm2.properties", "--clusters", "B", "C"], ["B", "C"]),
        (["--clusters", "B", "C", "mm2.properties"], ["B", "C"]),
    ],
)
def test_words_are_read_as_kafka_reads_them(words: list[str], clusters: list[str]) -> None:
    assert _read(words) == ("mm2.properties", clusters)


@pytest.mark.parametrize("words", [[], ["--help"], ["-daemon", "x"], ["a", "b"], ["--clusters"]])
def test_what_is_wrong_is_said_with_the_usage(words: list[str]) -> None:
    with pytest.raises(CommandFailed) as refused:
        mirror_maker(words)

    assert USAGE in str(refused.value) or "-daemon" in str(refused.value)
