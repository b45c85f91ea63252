"""The state of a task in files: now and then a snapshot, and in between the changes of each step.

The files are a cache. A task that finds a file missing or broken reads the changelog topics instead.

A shard (`<sub-topology>_<partition>`) has a directory of its own. Its files are numbered by step without a
gap, and their names carry the token of the attempt that wrote them. The driver knows which attempt was
committed (`commits.py`); files of other attempts are never read. A file is an Arrow file, and the metadata of
its schema holds marks and times. Readers, such as interactive queries, call `load` with the committed tokens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.kernels.cells import Cell, Entry
from penstock.plan.task import Snapshot

MOST_DELTAS: Final = 50
"""So many files at most are read to load a state; then there is a snapshot again."""
_SMALL_BYTES: Final = 1 << 20
_SNAPSHOT, _DELTA = "snapshot", "delta"
_META: Final = b"penstock"
_SCHEMA: Final = pa.schema(
    [("store", pa.int16()), ("key", pa.binary()), ("value", pa.binary()), ("timestamp", pa.int64())]
)

Tokens = Callable[[int], str | None]
"""The token of the committed attempt of a step, or none if it is not known."""


@dataclass(frozen=True)
class _File:
    path: Path
    step: int
    token: str
    kind: str


class StateFiles:
    """The files of one shard."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, step: int, tokens: Tokens, after: int | None = None) -> list[Snapshot] | None:
        """The state as it was after `step`: a snapshot and what changed since, or what changed since step
        `after`. None if not all of it is there."""
        found: list[Snapshot] = []
        known = {file.step: file for file in self._files() if file.token == tokens(file.step)}
        for number in range(step, -1, -1):
            if number == after:
                return found[::-1]
            if number not in known or len(found) > 2 * MOST_DELTAS:
                return None
            try:
                found.append(_read(known[number].path))
            except (OSError, pa.ArrowInvalid, ValueError, KeyError):
                return None
            if known[number].kind == _SNAPSHOT:  # laid over what is there it would not remove what is gone
                return found[::-1] if after is None else None
        return None

    def save(
        self, step: int, token: str, changes: Snapshot, everything: Callable[[], Snapshot], tokens: Tokens
    ) -> None:
        """Keep what a step changed, as itself or, when it is time, as a snapshot; durable on return. What no
        later step needs is removed."""
        self._directory.mkdir(parents=True, exist_ok=True)
        whole = self._wants_snapshot(step, tokens)
        kind = _SNAPSHOT if whole else _DELTA
        path = self._directory / f"{step:015d}-{token}.{kind}"
        _write(path, everything() if whole else changes)

    def _wants_snapshot(self, step: int, tokens: Tokens) -> bool:
        """The first, and then whenever the changes since the last take more room than it does."""
        files = {file.step: file for file in self._files() if file.token == tokens(file.step)}
        size, count = 0, 0
        for number in range(step - 1, -1, -1):
            file = files.get(number)
            if file is None:
                return True
            if file.kind == _SNAPSHOT:
                self._remove_before(number)
                return size > max(_size(file.path), _SMALL_BYTES) or count >= MOST_DELTAS
            size, count = size + _size(file.path), count + 1
        return True

    def _remove_before(self, step: int) -> None:
        for file in self._files():
            if file.step < step:
                file.path.unlink(missing_ok=True)

    def _files(self) -> Iterator[_File]:
        try:
            names = os.listdir(self._directory)
        except OSError:
            return
        for name in names:
            stem, _, kind = name.rpartition(".")
            step, _, token = stem.partition("-")
            if kind in (_SNAPSHOT, _DELTA) and step.isdigit():
                yield _File(self._directory / name, int(step), token, kind)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write(path: Path, state: Snapshot) -> None:
    names = sorted(state.stores)
    meta = {
        "stores": names,
        "marks": state.marks,
        "stream_time": state.stream_time,
        "partition_times": [[*place, time] for place, time in state.partition_times.items()],
    }
    schema = _SCHEMA.with_metadata({_META: json.dumps(meta).encode()})
    temporary = path.with_suffix(f".{os.getpid()}")
    with temporary.open("wb") as file:
        with pa.ipc.new_file(file, schema) as writer:
            for number, name in enumerate(names):
                writer.write_batch(_entries(number, state.stores[name]))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _entries(store: int, entries: list[Entry]) -> pa.RecordBatch:
    cells = [cell for _, cell in entries]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([store] * len(cells), pa.int16()),
            pa.array([key for key, _ in entries], pa.binary()),
            pa.array([None if cell is None else cell.value for cell in cells], pa.binary()),
            pa.array([None if cell is None else cell.timestamp for cell in cells], pa.int64()),
        ],
        schema=_SCHEMA,
    )


def _read(path: Path) -> Snapshot:
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        meta: Any = json.loads(reader.schema.metadata[_META])
        stores: dict[str, list[Entry]] = {name: [] for name in meta["stores"]}
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            if batch.num_rows:
                stores[meta["stores"][batch["store"][0].as_py()]] += _cells(batch)
    times = {(topic, partition): time for topic, partition, time in meta["partition_times"]}
    return Snapshot(stores, meta["marks"], meta["stream_time"], times)


def _cells(batch: pa.RecordBatch) -> Iterator[Entry]:
    rows = zip(
        batch["key"].to_pylist(), batch["value"].to_pylist(), batch["timestamp"].to_pylist(), strict=True
    )
    return ((key, None if value is None else Cell(value, time)) for key, value, time in rows)
