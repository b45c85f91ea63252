"""What Spark's JVM writes to the console."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.logs import CONFIGURATION, JAVA_OPTIONS, configured


def test_our_log_configuration_is_added_to_the_options_of_java() -> None:
    found = configured({"spark.ui.enabled": "false", JAVA_OPTIONS: "-Xss4m"})
    assert found["spark.ui.enabled"] == "false"
    assert found[JAVA_OPTIONS] == f"-Xss4m -Dlog4j2.configurationFile={CONFIGURATION.as_uri()}"
    assert CONFIGURATION.is_file()


def test_a_log_configuration_of_the_user_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {JAVA_OPTIONS: "-Dlog4j2.configurationFile=mine.properties"}
    assert configured(own) == own
    (tmp_path / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert configured({}) == {}
