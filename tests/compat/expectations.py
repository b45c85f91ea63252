"""What every client sends and must get back: keys, values, headers and timestamps that are easy to get
wrong."""

from __future__ import annotations

from typing import Final, NamedTuple

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
MANY: Final = 100_000
START_MS: Final = 1_700_000_000_000


class Sent(NamedTuple):
    """One record as a client sees it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


def records(count: int = 200) -> list[Sent]:
    """Compressible and incompressible, null, empty and large, with and without headers, in a fixed order."""
    made = []
    for index in range(count):
        key = None if index % 5 == 0 else b"" if index % 7 == 0 else f"key-{index}".encode()
        value: bytes | None = (f"value-{index}-".encode() * 8) if index % 11 else bytes(range(256)) * 20
        if key is not None and index % 13 == 0:  # some clients refuse a record of nothing at all
            value = None
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if index % 3 == 0:
            headers = (("trace", str(index).encode()), ("trace", b"again"), ("ünïcode", b""))
        made.append(Sent(key, value, headers, START_MS + index))
    return made


def numbers(count: int = MANY) -> list[bytes]:
    """Values that say their place."""
    return [f"{index:08d}".encode() for index in range(count)]
