"""Spark's own Kafka connector (JVM), `format("kafka")`: for real-time mode, which takes no Python source.

The newest published connector works on our Spark, which is newer. `spark.jars.packages` cannot fetch it: the
connector asks for a token provider of its own version (for Kerberos), and Maven Central has none after 4.0.0.
So the four jars are named here, fetched once and kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from pathlib import Path
from typing import Final, NamedTuple

VERSION: Final = "4.2.0"
REPOSITORY: Final = "https://repo1.maven.org/maven2"
_FETCH_SECONDS: Final = 60.0


class ConnectorMissing(RuntimeError):
    """The jars are not there and could not be fetched."""


class _Jar(NamedTuple):
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


_JARS: Final = (
    _Jar(
        *("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    _Jar(
        *("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    _Jar(
        *("org.apache.kafka", "kafka-clients", "3.9.1"),
        "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9",
    ),
    _Jar(
        *("org.apache.commons", "commons-pool2", "2.12.0"),
        "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b",
    ),
)


def published(repository: str = REPOSITORY) -> list[Path]:
    """The jars of the newest published connector, from the cache or from Maven Central."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "penstock" / f"spark-kafka-{VERSION}"
    place.mkdir(parents=True, exist_ok=True)
    return [_kept(jar, place, repository) for jar in _JARS]


def named(paths: str) -> list[Path]:
    """The jars that a user has: files or directories of them, with commas between."""
    return [jar for part in paths.split(",") for jar in _found(Path(part))]


def _found(place: Path) -> list[Path]:
    found = sorted(place.glob("*.jar")) if place.is_dir() else [place]
    if not found or not found[0].is_file():
        raise ConnectorMissing(
            f"jvm_connector names {place}, where no jar is: give the path of spark-sql-kafka-0-10 with what "
            "it needs (spark-token-provider-kafka-0-10, kafka-clients, commons-pool2)"
        )
    return found


def _kept(jar: _Jar, place: Path, repository: str) -> Path:
    kept = place / jar.name
    if kept.is_file():  # written whole or not at all
        return kept
    url = f"{repository}/{jar.path}"
    try:
        with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as answer:
            data = answer.read()
    except OSError as error:
        raise ConnectorMissing(
            f"{url} cannot be fetched ({error}): put {', '.join(each.name for each in _JARS)} into a "
            "directory and give it as jvm_connector"
        ) from None
    if hashlib.sha256(data).hexdigest() != jar.sha256:
        raise ConnectorMissing(f"{url} is not the jar that is known by that name: its SHA-256 differs")
    with tempfile.NamedTemporaryFile(dir=place, delete=False) as draft:
        draft.write(data)
    os.replace(draft.name, kept)
    return kept
