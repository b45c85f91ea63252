"""Batches in the codec of their topic."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import check_crc, read_header
from penstock.records.codecs import Codec
from penstock.records.record import Record, decode_batch, encode_batch
from penstock.settings import TopicSettings
from penstock.storage.recoding import recode

RECORDS = [Record(b"k%d" % number, b"value " * 50, (("h", b"x"),), 1000 + number) for number in range(20)]
WANTED = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@pytest.mark.parametrize("sent", list(Codec))
@pytest.mark.parametrize("wanted", WANTED)
def test_records_are_the_same_in_every_codec(sent: Codec, wanted: str) -> None:
    batch = memoryview(encode_batch(RECORDS, codec=sent, producer_id=7, producer_epoch=1, base_sequence=3))
    settings = dataclasses.replace(TopicSettings(), compression_type=wanted)
    recoded, header = recode(batch, read_header(batch), settings)
    assert header == read_header(recoded)
    assert header.size_bytes == len(recoded)
    assert header.codec == WANTED[wanted]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 3)
    check_crc(recoded, 0, header)
    assert decode_batch(recoded) == decode_batch(batch)


def test_a_batch_in_the_right_codec_stays_as_it_is() -> None:
    batch = memoryview(encode_batch(RECORDS, codec=Codec.ZSTD))
    settings = dataclasses.replace(TopicSettings(), compression_type="zstd")
    assert recode(batch, read_header(batch), settings)[0] is batch


def test_a_batch_that_grows_beyond_the_limit_is_refused() -> None:
    batch = memoryview(encode_batch(RECORDS, codec=Codec.ZSTD))
    settings = dataclasses.replace(TopicSettings(), compression_type="uncompressed", max_message_bytes=1000)
    with pytest.raises(KafkaError) as refused:
        recode(batch, read_header(batch), settings)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
