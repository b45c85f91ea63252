"""A project on disk: its settings, and its migrations with their versions."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from penstock.settings.sources import read_properties

CONFIG: Final = "ksql-migrations.properties"
FOLDER: Final = "migrations"
_FILE: Final = re.compile(r"V([0-9]{6})__(.+)\.sql")
HIGHEST: Final = 999_999
TEMPLATE: Final = """# What ksql-migrations needs to know. A line that begins with # shows a default.
ksql.server.url={url}
# ksql.auth.basic.username=
# ksql.auth.basic.password=
# ssl.truststore.location=
# ksql.migrations.stream.name=MIGRATION_EVENTS
# ksql.migrations.table.name=MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.stream.topic.name=the service id and ksql_MIGRATION_EVENTS
# ksql.migrations.table.topic.name=the service id and ksql_MIGRATION_SCHEMA_VERSIONS
# ksql.migrations.topic.replicas=1
# ksql.migrations.dir.override=
"""


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    path: Path

    @property
    def checksum(self) -> str:
        return hashlib.md5(self.path.read_bytes(), usedforsecurity=False).hexdigest()


class Project:
    def __init__(self, config: Path) -> None:
        self.settings = {name: text for name, text in read_properties(str(config)).items() if text}
        override = self.settings.get("ksql.migrations.dir.override")
        self.folder = Path(override) if override else config.parent / FOLDER

    @property
    def url(self) -> str:
        found = self.settings.get("ksql.server.url")
        if not found:
            raise click.ClickException("The settings have no ksql.server.url: write the server's address.")
        return found

    def migrations(self) -> list[Migration]:
        """In the order of their versions; a version stands once."""
        if not self.folder.is_dir():
            raise click.ClickException(f"There is no folder {self.folder}: ksql-migrations new-project.")
        found: dict[int, Migration] = {}
        for path in sorted(self.folder.iterdir()):
            match = _FILE.fullmatch(path.name)
            if match is None:
                if path.suffix == ".sql":
                    click.echo(f"Skipped {path.name}: a name is V000001__what_it_does.sql.", err=True)
                continue
            version = int(match[1])
            if version == 0:
                raise click.ClickException(f"{path.name}: versions begin with 1.")
            if version in found:
                raise click.ClickException(
                    f"Found multiple migration files with version {version}: {found[version].path.name}, "
                    f"{path.name}."
                )
            found[version] = Migration(version, match[2].replace("_", " "), path)
        return [found[version] for version in sorted(found)]

    def create(self, description: str, version: int | None) -> Path:
        known = self.migrations()
        chosen = version or max((each.version for each in known), default=0) + 1
        if any(each.version == chosen for each in known):
            raise click.ClickException(f"Found existing migrations file for version {chosen}.")
        if not 1 <= chosen <= HIGHEST:
            raise click.ClickException(f"A version is from 1 to {HIGHEST}.")
        words = re.sub(r"\s+", "_", description.strip())
        if not words or "/" in words:
            raise click.ClickException("Describe the migration in some words, without a slash.")
        path = self.folder / f"V{chosen:06}__{words}.sql"
        path.touch(exist_ok=False)
        return path


def new_project(path: Path, url: str) -> None:
    config, folder = path / CONFIG, path / FOLDER
    for each in (config, folder):
        if each.exists():
            raise click.ClickException(f"{each} is there already.")
    folder.mkdir(parents=True)
    config.write_text(TEMPLATE.format(url=url))
