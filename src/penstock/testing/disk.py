"""A disk in memory that forgets what was not synced, as real ones do when the power goes.

`SimDisk` is the simulator's implementation of `penstock.storage.disk.Disk`. What a process writes is seen at
once; it is durable only after `File.sync`, and the name of a file only after `Disk.sync_dir`. `kill` is the
death of the process: everything written stays. `crash` is the loss of power: of what was not synced, a part
survives that the seed decides, torn at any byte. The next write or sync can be made to fail.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from random import Random

from penstock.storage.disk import Bytes

GARBAGE_CHANCE = 0.25
MAX_GARBAGE_BYTES = 512
VOLUME_BYTES = 1 << 40


class _Inode:
    """The content of a file, and how to get there from what is durable."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = b""
        # What was done since the last sync, oldest first: bytes appended, or the size it was cut to.
        self.changes: list[bytes | int] = []

    def append(self, data: bytes) -> None:
        self.data += data
        self.changes.append(data)

    def truncate(self, size: int) -> None:
        del self.data[size:]
        self.changes.append(size)

    def sync(self) -> None:
        if self.changes:
            self.durable = bytes(self.data)
            self.changes.clear()

    def crash(self, random: Random) -> None:
        """Keep the changes up to some moment; tear the one at which the power went."""
        if not self.changes:
            return
        content = bytearray(self.durable)
        survivors = random.randrange(len(self.changes) + 1)
        for change in self.changes[:survivors]:
            if isinstance(change, int):
                del content[change:]
            else:
                content += change
        torn = self.changes[survivors] if survivors < len(self.changes) else b""
        if isinstance(torn, bytes) and torn:
            content += torn[: random.randrange(len(torn))]
            if random.random() < GARBAGE_CHANCE:
                # The size had reached the disk, the blocks had not.
                size = random.randrange(MAX_GARBAGE_BYTES)
                content += bytes(size) if random.random() < 0.5 else random.randbytes(size)
        self.data = content
        self.durable = bytes(content)
        self.changes.clear()


class _Directory:
    """Names and what they stand for, and how to get there from what is durable."""

    def __init__(self) -> None:
        self.entries: dict[str, _Inode | _Directory] = {}
        self.durable: dict[str, _Inode | _Directory] = {}
        self.changes: list[Callable[[dict[str, _Inode | _Directory]], None]] = []

    def change(self, change: Callable[[dict[str, _Inode | _Directory]], None]) -> None:
        change(self.entries)
        self.changes.append(change)

    def put(self, name: str, node: _Inode | _Directory) -> None:
        self.change(lambda entries: entries.__setitem__(name, node))

    def drop(self, name: str) -> None:
        self.change(lambda entries: entries.__delitem__(name))

    def move(self, source: str, target: str) -> None:
        # One change: no crash sees both names, or neither.
        self.change(lambda entries: entries.__setitem__(target, entries.pop(source)))

    def sync(self) -> None:
        self.durable = dict(self.entries)
        self.changes.clear()

    def crash(self, random: Random) -> None:
        """Keep the changes up to some moment, here and below."""
        entries = dict(self.durable)
        for change in self.changes[: random.randrange(len(self.changes) + 1)]:
            change(entries)
        self.entries = entries
        self.sync()
        for node in entries.values():
            node.crash(random)


class SimFile:
    """An open file of a `SimDisk`."""

    def __init__(self, disk: SimDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._life = disk.life
        self._inode = inode
        self._sync_error: OSError | None = None
        self.path = path

    @property
    def size(self) -> int:
        return len(self._inode.data)

    def append(self, data: Bytes) -> int:
        self._check_alive()
        self._disk.fail_if_told("write", self.path)
        position = len(self._inode.data)
        self._inode.append(bytes(data))
        return position

    def extended(self, size: int) -> None:
        assert size == self.size, "only this object writes to it"

    def read(self, position: int, size: int) -> bytes:
        self._check_alive()
        return bytes(self._inode.data[position : position + size])

    def sync(self) -> None:
        self._check_alive()
        if self._sync_error is not None:
            raise self._sync_error
        try:
            self._disk.fail_if_told("sync", self.path)
        except OSError as error:
            self._sync_error = error
            raise
        self._inode.sync()

    def truncate(self, size: int) -> None:
        self._check_alive()
        self._inode.truncate(size)

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a simulated file has no descriptor", self.path)

    def close(self) -> None:
        self._disk.unlock(self.path, self)

    def _check_alive(self) -> None:
        if self._life != self._disk.life:
            raise OSError(errno.EBADF, "the process that opened this file is dead", self.path)


class SimDisk:
    """A tree of files in memory. All chance comes from the generator that is handed in."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._root = _Directory()
        self._locks: dict[str, SimFile] = {}
        self._failures: list[tuple[str, str, OSError]] = []
        # Counts processes: files opened by a dead one cannot be used any more.
        self.life = 0

    # Faults

    def kill(self) -> None:
        """The process dies. Everything it wrote stays, synced or not."""
        self.life += 1
        self._locks.clear()
        self._failures.clear()

    def crash(self) -> None:
        """The power goes. Of what was not synced, some part survives."""
        self.kill()
        self._root.crash(self._random)

    def fail_next(self, operation: str, error: OSError, path: str = "") -> None:
        """The next "write" or "sync" of a file whose path contains `path` fails with `error`."""
        self._failures.append((operation, path, error))

    def fail_if_told(self, operation: str, path: str) -> None:
        for failure in self._failures:
            if failure[0] == operation and failure[1] in path:
                self._failures.remove(failure)
                raise failure[2]

    # Files

    def open(self, path: str) -> SimFile:
        return SimFile(self, path, self._inode(path))

    def create(self, path: str) -> SimFile:
        self.fail_if_told("write", path)
        directory, name = self._parent(path)
        found = directory.entries.get(name)
        if isinstance(found, _Directory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if found is None:
            found = _Inode()
            directory.put(name, found)
        elif found.data:
            found.truncate(0)
        return SimFile(self, path, found)

    def read_bytes(self, path: str) -> bytes:
        return bytes(self._inode(path).data)

    def size(self, path: str) -> int:
        return len(self._inode(path).data)

    def write_atomic(self, path: str, data: Bytes, *, durable: bool = True) -> None:
        temporary = path + ".tmp"
        file = self.create(temporary)
        file.append(data)
        if durable:
            file.sync()
        self.rename(temporary, path)
        if durable:
            self.sync_dir(os.path.dirname(path))

    def lock(self, path: str) -> SimFile:
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
        file = self._locks[path] = self.create(path)
        return file

    def space(self, path: str) -> tuple[int, int]:
        return VOLUME_BYTES, VOLUME_BYTES

    def unlock(self, path: str, file: SimFile) -> None:
        if self._locks.get(path) is file:
            del self._locks[path]

    # Names

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._directory(path).entries)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), _Directory)

    def make_dir(self, path: str) -> None:
        directory = self._root
        for name in _parts(path):
            following = directory.entries.get(name)
            if following is None:
                following = _Directory()
                directory.put(name, following)
                directory.sync()
            if not isinstance(following, _Directory):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            directory = following

    def remove(self, path: str) -> None:
        if self.exists(path):
            directory, name = self._parent(path)
            directory.drop(name)

    def remove_tree(self, path: str) -> None:
        self.remove(path)

    def rename(self, source: str, target: str) -> None:
        directory, name = self._parent(source)
        target_directory, target_name = self._parent(target)
        if name not in directory.entries:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        assert directory is target_directory, "storage renames within one directory only"
        directory.move(name, target_name)

    def sync_dir(self, path: str) -> None:
        self.fail_if_told("sync", path)
        self._directory(path).sync()

    def _find(self, path: str) -> _Inode | _Directory | None:
        node: _Inode | _Directory | None = self._root
        for name in _parts(path):
            if not isinstance(node, _Directory):
                return None
            node = node.entries.get(name)
        return node

    def _inode(self, path: str) -> _Inode:
        found = self._find(path)
        if not isinstance(found, _Inode):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found

    def _directory(self, path: str) -> _Directory:
        found = self._find(path)
        if not isinstance(found, _Directory):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found

    def _parent(self, path: str) -> tuple[_Directory, str]:
        *parents, name = _parts(path)
        return self._directory("/".join(parents)), name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
