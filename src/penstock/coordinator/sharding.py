"""Which shard holds what: Kafka's choice, which clients and tools rely on."""

from __future__ import annotations

from collections.abc import Iterator


def shard_of(name: str, shards: int) -> int:
    """Java's hash of the group's or transactional id, made positive, modulo the partitions of the internal
    topic."""
    value = 0
    for unit in _utf16_units(name):
        value = (31 * value + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % shards


def _utf16_units(text: str) -> Iterator[int]:
    encoded = text.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))
