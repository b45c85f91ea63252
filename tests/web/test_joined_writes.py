"""Head and body leave together within a turn of the loop; a head whose body comes later does not wait."""

from __future__ import annotations

import asyncio

from penstock.web.joined_writes import JoinedWrites

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class Written:
    """What reaches the transport below, write by write."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.closed_after: int | None = None

    def write(self, data: bytes) -> None:
        self.parts.append(data)

    def close(self) -> None:
        self.closed_after = len(self.parts)

    def is_closing(self) -> bool:
        return self.closed_after is not None


async def _turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_a_head_and_its_body_are_one_write() -> None:
    async def work() -> list[bytes]:
        below = Written()
        transport = JoinedWrites(below, asyncio.get_running_loop())
        for _ in range(2):
            transport.write(HEAD)
            transport.write(b"ok")
            await _turns()
        return below.parts

    assert asyncio.run(work()) == [HEAD + b"ok"] * 2


def test_a_head_without_a_body_leaves_in_the_next_turn() -> None:
    async def work() -> None:
        below = Written()
        transport = JoinedWrites(below, asyncio.get_running_loop())
        transport.write(HEAD)
        assert below.parts == []
        await _turns()
        assert below.parts == [HEAD]
        transport.write(b"ok")
        assert below.parts == [HEAD, b"ok"]

    asyncio.run(work())


def test_what_is_held_leaves_before_the_connection_is_closed() -> None:
    async def work() -> None:
        below = Written()
        transport = JoinedWrites(below, asyncio.get_running_loop())
        transport.write(HEAD)
        transport.close()
        await _turns()
        assert (below.parts, below.closed_after) == ([HEAD], 1)
        assert transport.is_closing()

    asyncio.run(work())
