"""What a child prints is kept within bounds, and its ready line is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.platform import output
from penstock.platform.output import Output


def test_a_ready_line_gives_what_follows_the_word(tmp_path: Path) -> None:
    kept = Output(tmp_path / "a.log")
    assert kept.take(b"readying\n") is None
    assert kept.take(b"not ready yet\n") is None
    assert kept.take(b"ready 127.0.0.1:9092\n") == "127.0.0.1:9092"
    assert kept.take(b"ready\n") == ""
    kept.close()
    expected = b"readying\nnot ready yet\nready 127.0.0.1:9092\nready\n"
    assert (tmp_path / "a.log").read_bytes() == expected


def test_the_last_lines_are_remembered_without_empty_ones(tmp_path: Path) -> None:
    kept = Output(tmp_path / "a.log")
    for number in range(100):
        kept.take(f"line {number}\n".encode())
    kept.take(b"\n")
    kept.take(b"\xff\n")
    lines = kept.last_lines()
    assert lines[-2:] == ["line 99", "\N{REPLACEMENT CHARACTER}"]
    assert len(lines) < output.LINES_KEPT
    kept.close()


def test_a_log_that_has_grown_too_large_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "LOG_BYTES_MAX", 25)
    (tmp_path / "a.log").write_bytes(b"of an earlier run\n")
    kept = Output(tmp_path / "a.log")
    for number in range(5):
        kept.take(f"line {number}\n".encode())
    kept.close()
    assert (tmp_path / "a.log").read_bytes() == b"line 4\n"
    assert (tmp_path / "a.log.1").read_bytes() == b"line 1\nline 2\nline 3\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log", "a.log.1"]
