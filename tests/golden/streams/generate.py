"""Makes `goldens.json` anew, with Kafka Streams' own test driver: `python -m tests.golden.streams.generate`.

It needs a JDK, and Maven the first time. The data is committed; tests only read it.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.peers.apache_kafka import streams_jars

HERE = Path(__file__).parent
PATIENCE_SECONDS = 900


def main() -> None:
    libs = streams_jars()
    with tempfile.TemporaryDirectory() as work:
        sources = sorted(str(path) for path in (HERE / "java").glob("*.java"))
        compile_java = ["javac", "-nowarn", "-cp", f"{libs}/*", "-d", work, *sources]
        subprocess.run(compile_java, check=True, timeout=PATIENCE_SECONDS)
        run = ["java", f"-Djava.io.tmpdir={work}", "-cp", f"{libs}/*:{work}", "Goldens"]
        files = [str(HERE / "scenarios.json"), str(HERE / "goldens.json")]
        subprocess.run([*run, *files], check=True, timeout=PATIENCE_SECONDS)


if __name__ == "__main__":
    main()
