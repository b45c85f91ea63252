"""The seam between storage and the machine: the protocols `Disk` and `File`, and `OsDisk`, the real one.

Every byte that storage reads or writes passes here, so that the simulator can put its own disk underneath.
Nothing here knows what a log is. A `File` closes itself when its last reference goes: whoever still sends a
slice of a deleted segment keeps it readable, and nobody closes a descriptor under a running sendfile.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from typing import Protocol, TypeAlias

from penstock.storage.positioned import read, write

Bytes: TypeAlias = bytes | bytearray | memoryview

# fdatasync leaves out the modification time, and with it a write to the journal; not every system has it.
_sync_data = getattr(os, "fdatasync", os.fsync)


def is_full(error: BaseException) -> bool:
    """Whether the disk refused for want of space, or of a user's share of it."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class File(Protocol):
    """One open file that only grows at its end, or is cut."""

    @property
    def size(self) -> int:
        """Bytes in the file, counting what is not yet durable."""
        ...

    def append(self, data: Bytes) -> int:
        """Write all of `data` at the end and return where it starts; on OSError the file is as before."""
        ...

    def extended(self, size: int) -> None:
        """So many bytes are in the file now: they were written to its descriptor."""
        ...

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position`; fewer only where the file ends."""
        ...

    def sync(self) -> None:
        """Everything appended so far is durable when this returns. Once failed, it never succeeds again."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes."""
        ...

    def fileno(self) -> int:
        """The descriptor, for sendfile."""
        ...

    def close(self) -> None:
        """Give the descriptor back now; only for files that were never handed out."""
        ...


class Disk(Protocol):
    """A tree of directories and files. Paths are plain strings; errors are OSError."""

    def open(self, path: str) -> File:
        """An existing file, to read and append."""
        ...

    def create(self, path: str) -> File:
        """A new, empty file; an old one of that name is emptied."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def size(self, path: str) -> int: ...

    def list_dir(self, path: str) -> list[str]:
        """The names inside, sorted."""
        ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def make_dir(self, path: str) -> None:
        """Make the directory and its parents, durably; nothing happens when it is there."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens when there is none."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all that is in it; nothing happens when there is none."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; a file called `target` is replaced."""
        ...

    def sync_dir(self, path: str) -> None:
        """Names made, renamed and removed in this directory are durable when this returns."""
        ...

    def write_atomic(self, path: str, data: Bytes, *, durable: bool = True) -> None:
        """Afterwards, and after any crash, the file holds all of `data` or what it held before. One that need
        not be `durable` may hold anything after a power cut; the death of the process does it no harm."""
        ...

    def lock(self, path: str) -> File:
        """Own the file `path` as long as the result lives; BlockingIOError when another process does."""
        ...

    def space(self, path: str) -> tuple[int, int]:
        """Bytes of the volume that holds `path`: all of them, and those that may still be used."""
        ...


class OsFile:
    """A file of the operating system, without a buffer of its own."""

    __slots__ = ("_fd", "_sync_error", "path", "size")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd
        self._sync_error: OSError | None = None
        self.size = os.fstat(fd).st_size

    def append(self, data: Bytes) -> int:
        position = self.size
        try:
            written = write(self._fd, data, position)
            if written != len(data):
                self._write_rest(memoryview(data)[written:], position + written)
        except OSError:
            # Whatever half was written must not be found by recovery; `size` never moved, so the next append
            # overwrites it even if cutting fails as well.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, position)
            raise
        self.size = position + len(data)
        return position

    def extended(self, size: int) -> None:
        self.size = size

    def _write_rest(self, data: memoryview, position: int) -> None:
        while data:
            written = os.pwrite(self._fd, data, position)
            data = data[written:]
            position += written

    def read(self, position: int, size: int) -> bytes:
        data = read(self._fd, size, position)
        if len(data) == size or position + len(data) >= self.size:
            return data
        parts = [data]
        position += len(data)
        size -= len(data)
        while size and (data := os.pread(self._fd, size, position)):
            parts.append(data)
            position += len(data)
            size -= len(data)
        return b"".join(parts)

    def sync(self) -> None:
        # Linux marks dirty pages clean after a failed writeback: a second fsync would answer success for data
        # that never reached the disk.
        if self._sync_error is not None:
            raise self._sync_error
        try:
            _sync_data(self._fd)
        except OSError as error:
            self._sync_error = error
            raise

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)
        self.size = size

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


class OsDisk:
    """The machine's own file system."""

    def open(self, path: str) -> OsFile:
        return OsFile(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))

    def create(self, path: str) -> OsFile:
        return OsFile(path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644))

    def read_bytes(self, path: str) -> bytes:
        file = self.open(path)
        return file.read(0, file.size)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_dir(self, path: str) -> None:
        if not os.path.isdir(path):
            parent = os.path.dirname(os.path.abspath(path))
            self.make_dir(parent)
            os.makedirs(path, exist_ok=True)
            self.sync_dir(parent)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_tree(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def write_atomic(self, path: str, data: Bytes, *, durable: bool = True) -> None:
        temporary = path + ".tmp"
        file = self.create(temporary)
        try:
            file.append(data)
            if durable:
                file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        if durable:
            self.sync_dir(os.path.dirname(path))

    def lock(self, path: str) -> OsFile:
        file = self.create(path)
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file

    def space(self, path: str) -> tuple[int, int]:
        volume = os.statvfs(path)
        return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail
