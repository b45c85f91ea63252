"""A note of the committed version of the state and of the files that hold it.

The note is written after each commit and read at a start. The group's committed offsets name the version too
(`progress.Batch` in their metadata), and files are trusted only if the note names the same one. The note is
written when the transaction is over, so the files that it names are those of the committed attempt. Without
the note nothing is lost: the changelogs are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.spark.host.state_files import MOST_DELTAS
from penstock.spark.progress import Batch

REMEMBERED: Final = 2 * MOST_DELTAS
"""Versions whose attempts are remembered: more than a state is ever made of."""


class Commits:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.last: Batch | None = None
        self._tokens: dict[int, str] = {}

    @property
    def tokens(self) -> Mapping[int, str]:
        return self._tokens

    @property
    def next_version(self) -> int:
        return 0 if self.last is None else self.last.batch_id + 1

    def begin(self, committed: Batch | None) -> None:
        """Go on after what the group says is committed."""
        self.last, self._tokens = committed, {}
        try:
            noted = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return
        if committed is not None and noted.get("batch") == committed.to_metadata():
            self._tokens = {int(version): token for version, token in noted["tokens"].items()}

    def add(self, batch: Batch, token: str) -> None:
        """The batch is committed."""
        self.last = batch
        self._tokens[batch.batch_id] = token
        for version in [known for known in self._tokens if known <= batch.batch_id - REMEMBERED]:
            del self._tokens[version]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps({"batch": batch.to_metadata(), "tokens": self._tokens}))
        temporary.rename(self._path)
