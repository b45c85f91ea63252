"""`format("penstock")`: what Spark asks for, from the options that a user gave."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructField, StructType

from penstock.spark.arrow import full_schema
from penstock.spark.decoding import Decoding, resolve
from penstock.spark.encoding import Encoding, encoding_for
from penstock.spark.options import OptionError, WriteOptions, read_formats, read_options, write_options
from penstock.spark.sink import PenstockStreamWriter, PenstockWriter, checked_columns
from penstock.spark.source import PenstockReader, PenstockStreamReader


class PenstockDataSource(DataSource):
    """Topics of a Penstock or Apache Kafka cluster, with the options and columns of Spark's own source.

    Reading: key and value (binary), topic, partition, offset, timestamp, timestampType, and headers with
    `includeHeaders`; the option `columns` (or a schema with some of them) leaves out what is not needed.
    Writing: see `penstock.spark.sink`; at least once.
    """

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType:
        # Whether a stream or a batch is read is not known yet, and makes no difference to the columns.
        names = self.options.get("columns")
        with_headers = str(self.options.get("includeHeaders", "false")).lower() == "true"
        if names is None:
            chosen = full_schema(include_headers=with_headers).fieldNames()
        else:
            chosen = [name.strip() for name in names.split(",")]
        return _projected(chosen, self._decodings())

    def reader(self, schema: StructType) -> PenstockReader:
        decodings = self._decodings()
        options = read_options(self.options, streaming=False)
        return PenstockReader(_known(schema, decodings), options, decodings)

    def streamReader(self, schema: StructType) -> PenstockStreamReader:  # noqa: N802
        decodings = self._decodings()
        options = read_options(self.options, streaming=True)
        return PenstockStreamReader(_known(schema, decodings), options, decodings)

    def _decodings(self) -> tuple[Decoding, ...]:
        """Settled once: Spark pickles this object with them, so that all its processes read alike."""
        settled: tuple[Decoding, ...] | None = self.__dict__.get("_settled")
        if settled is None:
            settled = self._settled = tuple(map(resolve, read_formats(self.options)))
        return settled

    def writer(self, schema: StructType, overwrite: bool) -> PenstockWriter:
        if overwrite:
            raise OptionError('a topic cannot be overwritten: write with .mode("append")')
        options = write_options(self.options)
        encoding = self._encoding(schema, options)
        return PenstockWriter(checked_columns(encoding.schema(schema), options), options, encoding)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PenstockStreamWriter:  # noqa: N802
        # In Complete mode Spark asks to overwrite; the whole result is appended, as by Spark's own sink.
        options = write_options(self.options)
        encoding = self._encoding(schema, options)
        return PenstockStreamWriter(checked_columns(encoding.schema(schema), options), options, encoding)

    def _encoding(self, schema: StructType, options: WriteOptions) -> Encoding:
        given = {name.lower(): value for name, value in self.options.items()}
        return encoding_for(given, schema, options.topic)


def _projected(names: list[str], decodings: Sequence[Decoding]) -> StructType:
    known = {field.name: field for field in full_schema(include_headers=True)}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise OptionError(f"there is no column {unknown[0]!r}: there are {', '.join(known)}")
    known |= {each.field.field: StructField(each.field.field, each.spark_type) for each in decodings}
    return StructType([known[name] for name in names])


def _known(schema: StructType, decodings: Sequence[Decoding]) -> StructType:
    """A schema that a user gave is a choice of columns; their types are not."""
    ours = _projected(schema.fieldNames(), decodings)
    for field, own in zip(schema, ours, strict=True):
        if field.dataType != own.dataType:
            raise OptionError(f"column {field.name} is {own.dataType.simpleString()}: cast it after reading")
    return ours
