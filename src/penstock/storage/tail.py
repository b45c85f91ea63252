"""The end of a log, to which plain batches are appended without the GIL; it is the log's lock as well.

A log opens its tail when it could take a plain batch by itself: it says where the next batch goes, what a
batch must be, and which sequence is next of which producer. The holder of the lock or, natively, any thread
may then append. The tail keeps the headers of batches that the log has not been told of, and tells the log
(`settle`) before anything in Python sees the log under the lock. So all other code finds a log as if it had
appended these batches itself.

- `with tail:` is the lock as every caller takes it. It shuts the tail: what the tail knows may change.
- `entry(tail, appends=False)` is for those that only read, or change nothing that the tail knows. It stays
  open.
- `entry(tail, appends=True)` is for one append in Python. `resume` opens the tail again behind it; without
  that, or after an exception, it is shut.

A tail is told what is next, and decides nothing else: it never rolls, indexes, knows a duplicate, has a
transaction or an error. A batch that is not exactly what is next is not appended, and goes the way of Python.
A batch that cannot be written is cut away again and goes there too, where the disk's refusal is understood.

`_tail_native` (Cython) is what brokers use. `PureTail` says what it means, is its twin in tests and in the
simulator, and the lock where there is no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from threading import RLock, get_ident
from typing import Final, NamedTuple, Protocol

from penstock.records import walk
from penstock.records.batch import (
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    assign,
    read_header,
)
from penstock.storage.disk import Disk, File, OsDisk
from penstock.storage.index import MAX_RELATIVE_OFFSET

MOST_APPENDED: Final = 256
"""Batches that the log has not been told of; the next one goes the way of Python, which tells it."""
MOST_PRODUCERS: Final = 128
_NO_EPOCH: Final = -1
SEQUENCE_MASK: Final = 0x7FFFFFFF

Settle = Callable[[bytes], None]
"""Takes the headers of appended batches, one behind the other."""


class PlacedBatch(NamedTuple):
    base_offset: int
    log_start_offset: int
    has_waiting: bool
    """Requests wait for this partition, and `wake` has to be called."""


class Flag(Protocol):
    """Whether a log directory has failed."""

    def set(self) -> None: ...


class Tail(Protocol):
    """The lock of a log, which may be entered again by its owner, and the end of the log behind it."""

    wake: Callable[[], None]
    waiting: int
    """How many requests wait for this partition. Set with the lock held."""

    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...
    def is_owned(self) -> bool: ...

    @property
    def is_open(self) -> bool: ...
    @property
    def ahead(self) -> int:
        """Where the log ends while it has not been told so; -1 when it knows by itself. Read without lock."""
        ...

    def open(
        self,
        file: File,
        flag: Flag,
        *,
        position: int,
        end_offset: int,
        base_offset: int,
        log_start_offset: int,
        leader_epoch: int,
        segment_bytes: int,
        first_timestamp: int,
        segment_ms: int,
        last_end_offset: int,
        batches_left: int,
        max_bytes: int,
        before_ms: int,
        after_ms: int,
        require_keys: bool,
    ) -> None:
        """Take plain batches from now on. The lock is held."""
        ...

    def resume(self, file: File, end_offset: int, position: int) -> bool:
        """Go on behind an append of Python's. False when that is not possible: `open` it then."""
        ...

    def expect(self, producer_id: int, epoch: int, next_sequence: int) -> None:
        """A batch of this producer is plain if it is the next one."""
        ...

    def unexpect(self, producer_id: int) -> None:
        """No batch of this producer is."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...

    def append(self, batch: memoryview) -> PlacedBatch | None:
        """One plain batch; None when Python must append it."""
        ...


class PureFlag:
    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        self.is_set = True


class _Terms(NamedTuple):
    """What `PureTail.open` was told."""

    file: File
    flag: PureFlag
    base_offset: int
    log_start_offset: int
    leader_epoch: int
    segment_bytes: int
    first_timestamp: int
    segment_ms: int
    last_end_offset: int
    max_bytes: int
    before_ms: int
    after_ms: int
    require_keys: bool


class PureTail:
    def __init__(self, settle: Settle, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.waiting = 0
        self.ahead = -1
        self.is_open = False
        self._settle = settle
        self._lock = RLock()
        self._owner = 0
        self._depth = 0
        self._is_suspended = False
        self._terms: _Terms | None = None
        self._position = 0
        self._end_offset = 0
        self._batches_left = 0
        self._appended = bytearray()
        self._producers: dict[int, tuple[int, int]] = {}

    # The lock

    def __enter__(self) -> None:
        self.enter(appends=None)

    def enter(self, *, appends: bool | None) -> None:
        """Whether the owner appends; None for one that may change anything."""
        self._lock.acquire()
        self._owner, self._depth = get_ident(), self._depth + 1
        if appends is None:
            self.shut()
        elif appends and self._depth == 1:
            self._is_suspended, self.is_open = self.is_open, False
        if self._appended:
            self._settle(bytes(self._appended))
            self._appended.clear()
            self.ahead = -1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._is_suspended = False
            self._owner = 0
        self._lock.release()

    def is_owned(self) -> bool:
        return self._owner == get_ident()

    def shut(self) -> None:
        self.is_open = self._is_suspended = False

    # What the log says

    def open(
        self,
        file: File,
        flag: Flag,
        *,
        position: int,
        end_offset: int,
        base_offset: int,
        log_start_offset: int,
        leader_epoch: int,
        segment_bytes: int,
        first_timestamp: int,
        segment_ms: int,
        last_end_offset: int,
        batches_left: int,
        max_bytes: int,
        before_ms: int,
        after_ms: int,
        require_keys: bool,
    ) -> None:
        assert self.is_owned()
        assert not self._appended
        assert isinstance(flag, PureFlag)
        self._terms = _Terms(
            file,
            flag,
            base_offset,
            log_start_offset,
            leader_epoch,
            segment_bytes,
            first_timestamp,
            segment_ms,
            last_end_offset,
            max_bytes,
            before_ms,
            after_ms,
            require_keys,
        )
        self._position, self._end_offset, self._batches_left = position, end_offset, batches_left
        if not self._is_suspended:
            self._producers.clear()
        self.is_open = True

    def resume(self, file: File, end_offset: int, position: int) -> bool:
        if not self._is_suspended or self._terms is None or file is not self._terms.file:
            return False
        self._end_offset, self._position, self.is_open = end_offset, position, True
        return True

    def expect(self, producer_id: int, epoch: int, next_sequence: int) -> None:
        if len(self._producers) >= MOST_PRODUCERS:
            self._producers.clear()
        self._producers[producer_id] = epoch, next_sequence

    def unexpect(self, producer_id: int) -> None:
        if producer_id in self._producers:
            self._producers[producer_id] = _NO_EPOCH, 0

    def close(self) -> None:
        self.shut()
        self._terms = None

    # Appending

    def append(self, batch: memoryview) -> PlacedBatch | None:
        with self._lock:
            terms, header = self._terms, read_header(batch)
            if terms is None or not self.is_open or not self._is_next(terms, header):
                return None
            return self._write(terms, batch, header)

    def _is_next(self, terms: _Terms, header: BatchHeader) -> bool:
        last_offset = self._end_offset + header.last_offset_delta
        if header.producer_id >= 0:
            expected = self._producers.get(header.producer_id)
            if expected != (header.producer_epoch, header.base_sequence):
                return False
        return (
            not terms.flag.is_set
            and len(self._appended) < MOST_APPENDED * HEADER_SIZE
            and self._batches_left > 0
            and not header.is_transactional
            and last_offset - terms.base_offset <= MAX_RELATIVE_OFFSET
            and last_offset + 1 < terms.last_end_offset
            and self._position <= terms.segment_bytes - header.size_bytes
            and header.max_timestamp - terms.first_timestamp <= terms.segment_ms
        )

    def _write(self, terms: _Terms, batch: memoryview, header: BatchHeader) -> PlacedBatch | None:
        base_offset = self._end_offset
        assign(batch, 0, base_offset, terms.leader_epoch)
        try:
            terms.file.append(batch)
        except OSError:
            assign(batch, 0, 0, header.leader_epoch)
            return None
        self._appended += batch[:HEADER_SIZE]
        self._batches_left -= 1
        self._position += header.size_bytes
        self._end_offset = self.ahead = base_offset + header.last_offset_delta + 1
        if header.producer_id >= 0:
            following = (header.base_sequence + header.last_offset_delta + 1) & SEQUENCE_MASK
            self._producers[header.producer_id] = header.producer_epoch, following
        return PlacedBatch(base_offset, terms.log_start_offset, self.waiting > 0)

    def accepts(self, batch: memoryview, now_ms: int) -> bool:
        """Whether nothing at all is wrong with a batch; natively this comes before the lock."""
        terms = self._terms
        return (
            self.is_open
            and terms is not None
            and walk.accept(
                batch, terms.max_bytes, terms.require_keys, now_ms, terms.before_ms, terms.after_ms
            )
            is not None
        )


class PureEntry(AbstractContextManager[None]):
    """A way to enter the lock for those that do not change what the tail knows."""

    def __init__(self, tail: PureTail, *, appends: bool) -> None:
        self._tail = tail
        self._appends = appends

    def __enter__(self) -> None:
        self._tail.enter(appends=self._appends)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None and self._appends:
            self._tail.shut()
        self._tail.__exit__(kind, error, trace)


class Tails(Protocol):
    """The tails of partitions, by the name of their topic, or by its id."""

    def add(self, key: bytes, partition: int, tail: Tail, *, by_id: bool) -> None: ...
    def remove(self, key: bytes, partition: int, *, by_id: bool) -> None: ...


class PureTails:
    def __init__(self) -> None:
        self._tails: dict[tuple[bytes, int, bool], Tail] = {}

    def add(self, key: bytes, partition: int, tail: Tail, *, by_id: bool) -> None:
        self._tails[key, partition, by_id] = tail

    def remove(self, key: bytes, partition: int, *, by_id: bool) -> None:
        self._tails.pop((key, partition, by_id), None)

    def find(self, key: bytes, partition: int, *, by_id: bool) -> PureTail | None:
        found = self._tails.get((key, partition, by_id))
        assert found is None or isinstance(found, PureTail)
        return found


def headers_of(appended: bytes) -> list[BatchHeader]:
    """What `settle` was told."""
    return [BatchHeader._make(fields) for fields in HEADER.iter_unpack(appended)]


class Kind(NamedTuple):
    """The parts of one of the twins."""

    tail: Callable[[Settle, Callable[[], None]], Tail]
    entry: Callable[..., AbstractContextManager[None]]
    flag: Callable[[], Flag]
    tails: Callable[[], Tails]
    is_native: bool


PURE: Final = Kind(PureTail, PureEntry, PureFlag, PureTails, is_native=False)


def _native_kind() -> Kind | None:
    try:
        native = import_module("penstock.storage._tail_native")
    except ImportError:
        return None
    return Kind(native.Tail, native.Entry, native.Flag, native.Tails, is_native=True)


NATIVE: Final = _native_kind()


def kind_on(disk: Disk) -> Kind:
    """The native tail needs the descriptors of the machine's own disk."""
    return NATIVE if NATIVE is not None and isinstance(disk, OsDisk) else PURE
