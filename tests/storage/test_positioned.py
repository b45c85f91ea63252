"""Small reads and writes with the GIL held: they do what os.pread and os.pwrite would, and refusals are the
system's."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.storage.positioned import read, write

SMALL_BYTES = 64 * 1024


@pytest.mark.parametrize("size", [0, 1, SMALL_BYTES, SMALL_BYTES + 1])
def test_bytes_go_where_they_are_told_to(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    with (tmp_path / "file").open("w+b") as file:
        assert write(file.fileno(), b"abc", 0) == 3
        assert write(file.fileno(), memoryview(content), 2) == size
        assert os.pread(file.fileno(), size + 10, 0) == b"ab" + (content or b"c")


@pytest.mark.parametrize("size", [1, SMALL_BYTES + 1])
def test_a_refusal_is_an_oserror_with_its_number(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.touch()
    with path.open("rb") as file, pytest.raises(OSError, match="descriptor") as caught:
        write(file.fileno(), bytes(size), 0)
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize("size", [0, 1, 10, SMALL_BYTES, SMALL_BYTES + 1])
@pytest.mark.parametrize("in_memory", [True, False])
def test_bytes_are_read_as_far_as_there_are_any(tmp_path: Path, size: int, in_memory: bool) -> None:
    content = os.urandom(SMALL_BYTES)
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as file:
        if not in_memory:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert read(file.fileno(), size, 0) == content[:size]
        assert read(file.fileno(), size, SMALL_BYTES - 5) == content[-5:][:size]
        assert read(file.fileno(), size, SMALL_BYTES) == b""


@pytest.mark.parametrize("size", [1, SMALL_BYTES + 1])
def test_a_refused_read_is_an_oserror_with_its_number(tmp_path: Path, size: int) -> None:
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="descriptor") as caught:
        read(file.fileno(), size, 0)
    assert caught.value.errno == errno.EBADF
