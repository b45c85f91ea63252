"""`ksql-migrations`: a project from its first file to its end, a failure in between, files that changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.ksql.migrations.command import migrations
from tests.sqlserver.servers import Server

pytestmark = pytest.mark.timeout(600)


def tool(project: Path, *arguments: str, code: int = 0) -> str:
    config = str(project / "ksql-migrations.properties")
    done = CliRunner().invoke(migrations, ["-c", config, *arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


def test_a_project_is_applied_version_by_version(spark_server: Server, project: Path) -> None:
    CliRunner().invoke(migrations, ["new-project", str(project), spark_server.url])
    tool(project, "apply", "--all", code=1)  # the server knows nothing yet
    assert "initialized successfully" in tool(project, "initialize-metadata")
    first = project / "migrations" / "V000001__make_orders.sql"
    assert str(first) in tool(project, "create", "make orders")
    first.write_text(
        "DEFINE topic = 'it''s';\nSET 'auto.offset.reset' = 'earliest';\n"
        "CREATE STREAM ${name} (id INT KEY, v STRING) "
        "WITH (kafka_topic='migrated', value_format='JSON', partitions=1);\n"
        "INSERT INTO ${name} VALUES (1, '${topic}');"
    )
    second = project / "migrations" / "V000003__broken.sql"
    tool(project, "create", "broken", "-v", "3")
    second.write_text("DROP STREAM not_there;")
    assert "CREATE STREAM moved" in tool(project, "apply", "--all", "--dry-run", "-d", "name=moved")
    assert "Current migration version: None" in tool(project, "info")

    said = tool(project, "apply", "--all", "-d", "name=moved", code=1)
    assert "Successfully migrated" in said
    assert "Failed to migrate to version 3" in said
    assert spark_server.rows("SELECT v FROM moved;") == [["it's"]]
    lines = [line.split(" | ") for line in tool(project, "info").splitlines() if line.startswith(" ")]
    assert [[cell.strip() for cell in line[:4]] for line in lines[1:]] == [
        ["1", "make orders", "MIGRATED", "<none>"],
        ["3", "broken", "ERROR", "1"],
    ]

    second.write_text("ALTER STREAM moved ADD COLUMN w INT;")
    assert "Loaded 1 migration\n" in tool(project, "apply", "--next")
    assert "Current migration version: 3" in tool(project, "info")
    assert "Successfully validated" in tool(project, "validate")
    spark_server.wait_for_rows(
        "SELECT version, state FROM migration_schema_versions WHERE version_key = 'CURRENT';",
        lambda rows: rows == [["3", "MIGRATED"]],
    )
    first.write_text("SHOW STREAMS;")
    assert "does not match the checksum" in tool(project, "validate", code=1)
    assert "does not match the checksum" in tool(project, "apply", "--next", code=1)
    tool(project, "destroy-metadata")
    (streams,) = spark_server.ksql("SHOW STREAMS;")
    assert "MIGRATION_EVENTS" not in [each["name"] for each in streams["streams"]]
    spark_server.ksql("DROP STREAM moved DELETE TOPIC;")


@pytest.mark.parametrize(
    ("text", "words"),
    [("SELECT 1;", "V000001__x.sql"), ("SHOW STREAMS;", "does not execute Show"), ("CREATE;", "too early")],
)
def test_a_file_is_read_before_its_first_statement_is_executed(
    server: Server, project: Path, text: str, words: str
) -> None:
    CliRunner().invoke(migrations, ["new-project", str(project), server.url])
    (project / "migrations" / "V000001__x.sql").write_text(
        f"CREATE STREAM never (id INT KEY) WITH (kafka_topic='never', format='JSON', partitions=1); {text}"
    )
    server.ksql(
        "CREATE STREAM IF NOT EXISTS migration_events (version_key STRING KEY, version STRING, name STRING, "
        "state STRING, checksum STRING, started_on STRING, completed_on STRING, previous STRING, "
        "error_reason STRING) WITH (kafka_topic='events', value_format='JSON', partitions=1);"
    )
    assert words in tool(project, "apply", "--all", code=1)
    assert "NEVER" not in str(server.ksql("SHOW STREAMS;"))


def test_settings_and_names_that_are_wrong_are_refused(project: Path) -> None:
    CliRunner().invoke(migrations, ["new-project", str(project), "http://127.0.0.1:1"])
    assert "exactly one of" in tool(project, "apply", code=2)
    assert "No SQL server answers" in tool(project, "info", code=1)
    assert "is there already" in CliRunner().invoke(migrations, ["new-project", str(project), "x"]).output
    (project / "migrations" / "V000001__a.sql").touch()
    assert "existing migrations file" in tool(project, "create", "b", "-v", "1", code=1)
    (project / "migrations" / "V000001__b.sql").touch()
    assert "multiple migration files with version 1" in tool(project, "create", "c", code=1)
    assert "-c FILE" in CliRunner().invoke(migrations, ["info"]).output
