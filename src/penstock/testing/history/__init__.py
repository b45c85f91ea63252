"""The history checker: what clients asked and were told, held against what the broker promises.

`Recorder` writes a history down, `check` judges it. Tests with real clients and the simulator share both.
"""

from __future__ import annotations

from penstock.testing.history.check import assert_kept, check
from penstock.testing.history.events import History
from penstock.testing.history.ledger import MalformedHistory
from penstock.testing.history.recorder import Recorder
from penstock.testing.history.violation import Rule, Violation

__all__ = ["History", "MalformedHistory", "Recorder", "Rule", "Violation", "assert_kept", "check"]
