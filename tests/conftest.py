"""What every test run shares: the house's options and policies. An area's fixtures live in that area."""

from __future__ import annotations

import os

from tests.peers.apache_kafka import QUICK_JAVA

# Of each JVM that a test starts, Spark's in processes of their own among them.
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(QUICK_JAVA))

pytest_plugins = [
    "pytester",  # the policies are tested by running pytest inside pytest
    "tests.house.forms",
    "tests.house.skip_policy",
    "tests.house.time_budget",
    "tests.house.lanes",
    "tests.golden.traces.rewriting",
    "tests.peers.java_programs",  # one JVM for all areas
]
