"""Which files are trusted after a start."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.host.commits import REMEMBERED, Commits
from penstock.spark.progress import Batch


def test_files_are_trusted_only_if_the_group_names_the_same_version(tmp_path: Path) -> None:
    commits = Commits(tmp_path / "committed.json")
    commits.begin(None)
    assert commits.next_version == 0
    commits.add(Batch("app", 0, 100), "one")
    commits.add(Batch("app", 1, 200), "two")
    again = Commits(tmp_path / "committed.json")
    again.begin(Batch("app", 1, 200))
    assert (again.next_version, dict(again.tokens)) == (2, {0: "one", 1: "two"})
    for other in (Batch("app", 2, 300), Batch("app", 1, 201), None):
        again.begin(other)
        assert again.tokens == {}


def test_few_versions_are_remembered(tmp_path: Path) -> None:
    commits = Commits(tmp_path / "committed.json")
    for version in range(2 * REMEMBERED):
        commits.add(Batch("app", version, version), "t")
    assert len(commits.tokens) == REMEMBERED
