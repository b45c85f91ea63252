"""Importing the client must not load the C library: the command line imports it to print its help."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_client_does_not_import_the_binding() -> None:
    code = (
        "import sys, penstock.client.admin, penstock.client.messages;"
        "sys.exit(any(name.split('.')[0] == 'confluent_kafka' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0
