"""Where files go: a directory that the worker allows, a bucket, or HDFS. All three through `pyarrow.fs`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from penstock.connect.api.guards import allowed_address, allowed_path
from penstock.connect.errors import ConnectError


class Found(NamedTuple):
    """A file that is there."""

    path: str
    size: int
    modified_ms: int


class Store:
    """Files by their path below one root."""

    def __init__(self, config: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        from pyarrow import fs

        self._config = config
        url = settings["store.url"] or settings["hdfs.url"] or ""
        parts = urlsplit(url)
        if settings["s3.bucket.name"]:
            if url:
                allowed_address(url)
            self._files: Any = fs.S3FileSystem(
                access_key=settings["aws.access.key.id"],
                secret_key=settings["aws.secret.access.key"],
                region=settings["s3.region"],
                endpoint_override=parts.netloc or None,
                scheme=parts.scheme or "https",
            )
            self._root = settings["s3.bucket.name"]
        elif parts.scheme == "hdfs":
            allowed_address(url)
            self._files = fs.HadoopFileSystem(parts.hostname or "default", parts.port or 8020)
            self._root = parts.path.rstrip("/")
        elif parts.scheme == "file":
            self._files, self._root = fs.LocalFileSystem(), str(allowed_path(config, parts.path))
        else:
            raise ConnectError("give s3.bucket.name, or a store.url that begins with file:// or hdfs://")

    @property
    def is_local(self) -> bool:
        return bool(self._files.type_name == "local")

    def local_path(self, path: str) -> Path:
        """Forbidden for a link that leads out of what the worker allows."""
        return allowed_path(self._config, f"{self._root}/{path}")

    def write(self, path: str, data: bytes) -> None:
        """Whole or not at all: a bucket's file appears when it is closed, others are renamed."""
        full = f"{self._root}/{path}"
        folder, _, name = full.rpartition("/")
        if self._files.type_name == "s3":
            with self._files.open_output_stream(full, compression=None) as out:
                out.write(data)
            return
        self._files.create_dir(folder, recursive=True)
        hidden = f"{folder}/.{name}.new"
        with self._files.open_output_stream(hidden, compression=None) as out:
            out.write(data)
        self._files.move(hidden, full)

    def read(self, path: str) -> bytes | None:
        try:
            with self._files.open_input_stream(f"{self._root}/{path}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def open(self, path: str) -> Any:
        """For reading; it can seek."""
        if self.is_local:
            self.local_path(path)
        return self._files.open_input_file(f"{self._root}/{path}")

    def found(self, folder: str, *, recursive: bool) -> list[Found]:
        """The files of a folder, by name."""
        from pyarrow import fs

        root = f"{self._root}/{folder}".rstrip("/")
        chosen = fs.FileSelector(root, allow_not_found=True, recursive=recursive)
        return sorted(
            Found(each.path[len(self._root) + 1 :], each.size, (each.mtime_ns or 0) // 1_000_000)
            for each in self._files.get_file_info(chosen)
            if each.type == fs.FileType.File
        )

    def move(self, path: str, to: str) -> None:
        if self._files.type_name != "s3":
            self._files.create_dir(f"{self._root}/{to}".rpartition("/")[0], recursive=True)
        self._files.move(f"{self._root}/{path}", f"{self._root}/{to}")

    def list(self, folder: str) -> list[str]:
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self._root}/{folder}", allow_not_found=True, recursive=True)
        found = self._files.get_file_info(chosen)
        return [each.path[len(self._root) + 1 :] for each in found if each.type == fs.FileType.File]

    def delete(self, path: str) -> None:
        self._files.delete_file(f"{self._root}/{path}")
