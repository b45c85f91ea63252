"""Small writes with the GIL held: what they write is what os.pwrite would, and refusals are the system's."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.storage.writing import write

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
