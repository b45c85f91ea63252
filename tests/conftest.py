"""What every test run shares: the house's options and policies. An area's fixtures live in that area."""

from __future__ import annotations

pytest_plugins = [
    "pytester",  # the policies are tested by running pytest inside pytest
    "tests.house.forms",
    "tests.house.skip_policy",
    "tests.house.time_budget",
]
