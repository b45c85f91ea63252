"""Offsets in Kafka's own file, as Java writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connect.errors import ConnectError
from penstock.connect.worker import java_maps
from penstock.connect.worker.offset_stores import FileOffsets

OF_JAVA = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f61644661"
    "63746f724900097468726573686f6c6478703f4000000000000c77080000001000000003757200025b42acf317"
    "f8060854e00200007870000000016b707571007e0002000000165b2261222c7b2266696c656e616d65223a2278"
    "227d5d7571007e00020000000e7b22706f736974696f6e223a387d7571007e0002000000016c7571007e000200"
    "00000078"
)
"""Written by Java 17: three entries, one with a null and one that is empty."""


def test_a_map_of_java_is_read() -> None:
    position = b'{"position":8}'
    assert java_maps.loads(OF_JAVA) == {b"k": None, b'["a",{"filename":"x"}]': position, b"l": b""}


@given(st.dictionaries(st.binary(), st.binary(), max_size=40))
def test_what_is_written_is_read_back(found: dict[bytes, bytes]) -> None:
    assert java_maps.loads(java_maps.dumps(found)) == found


@given(st.binary(), st.integers(0, len(OF_JAVA)))
def test_other_bytes_are_refused(data: bytes, cut: int) -> None:
    for each in (data, OF_JAVA[:cut]):
        try:
            java_maps.loads(each)
        except ValueError:
            continue
        assert each[: len(OF_JAVA) - 1] == OF_JAVA[:-1]  # only the last byte says nothing


def test_a_file_keeps_what_others_wrote_and_forgets_what_is_null(tmp_path: Path) -> None:
    store = FileOffsets(str(tmp_path / "deep" / "connect.offsets"))
    store.prepare()
    assert store.read() == {}
    store.write([(b"a", b"1"), (b"b", b"2")])
    store.write([(b"a", None), (b"c", b"3")])
    assert FileOffsets(str(tmp_path / "deep" / "connect.offsets")).read() == {b"b": b"2", b"c": b"3"}
    (tmp_path / "no.offsets").write_text("text")
    with pytest.raises(ConnectError, match="holds no offsets of Kafka Connect"):
        FileOffsets(str(tmp_path / "no.offsets")).read()
