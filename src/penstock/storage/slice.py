"""A piece of a file on its way to a client: what `Log.read` returns and the server hands to sendfile."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.disk import File


class FileSlice(NamedTuple):
    """`size` bytes of `file` from `position` on. Holding it keeps even a deleted file readable."""

    file: File
    position: int
    size: int

    def read(self) -> bytes:
        """The bytes themselves, where they cannot go to a socket by sendfile."""
        return self.file.read(self.position, self.size)
