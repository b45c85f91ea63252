"""Spark's own Kafka connector (JVM) as a peer, from Maven Central, kept in the user's cache.

`SPARK_VERSION` of the connector is the newest that is published; it runs on the Spark of our environment.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from tests.peers.apache_kafka import DOWNLOAD_SECONDS, Unavailable, cache_dir

SPARK_VERSION: Final = "4.2.0"
_SCALA: Final = "2.13"
# The connector's own list, without what Spark brings. Of the token provider, which only Kerberos needs, no
# later release is published.
_ARTIFACTS: Final = (
    ("org.apache.spark", f"spark-sql-kafka-0-10_{_SCALA}", SPARK_VERSION),
    ("org.apache.spark", f"spark-token-provider-kafka-0-10_{_SCALA}", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
)
_DEPENDENCY: Final = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><exclusions><exclusion>"
    "<groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
)
_POM: Final = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    "<groupId>penstock.tests</groupId><artifactId>spark-kafka</artifactId><version>1</version>"
    "<packaging>pom</packaging><dependencies>{}</dependencies></project>"
)


@cache
def connector_jars() -> str:
    """What `spark.jars` is to be, for a session that knows `format("kafka")`."""
    libs = cache_dir() / f"spark-kafka-{SPARK_VERSION}"
    if not libs.is_dir():
        _fetch(libs)
    return ",".join(sorted(str(jar) for jar in libs.glob("*.jar")))


def _fetch(libs: Path) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable(
            "Spark's Kafka connector is not in the cache and `mvn` is not on the PATH to fetch it"
        )
    libs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libs.parent) as work:
        dependencies = "".join(_DEPENDENCY.format(*artifact) for artifact in _ARTIFACTS)
        (Path(work) / "pom.xml").write_text(_POM.format(dependencies))
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs"]
        try:
            subprocess.run(
                command, cwd=work, check=True, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = f"{error.stdout!s:.300}"
            raise Unavailable(f"Maven could not fetch Spark's Kafka connector: {said}") from None
        if not libs.is_dir():  # another run may have been faster
            (Path(work) / "libs").rename(libs)
