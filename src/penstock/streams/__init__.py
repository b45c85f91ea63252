"""Kafka Streams in Python: the DSL, the Processor API, and a test driver. `docs/streams.md` is the guide."""

from penstock.kernels.expressions import ColumnExpression
from penstock.kernels.processor import Processor, ProcessorContext, PunctuationType
from penstock.kernels.record import Record, Windowed
from penstock.kernels.store_specs import KeyValueSpec, SessionSpec, VersionedSpec, WindowSpec
from penstock.kernels.timestamps import (
    FailOnInvalidTimestamp,
    PartitionTimeOnInvalidTimestamp,
    SkipOnInvalidTimestamp,
    WallclockTime,
)
from penstock.kernels.windows import (
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)
from penstock.plan.errors import TopologyError
from penstock.plan.failures import FailureLetters, ProcessingError, fail_processing, skip_processing
from penstock.plan.raw_records import DeadLetters, fail, skip
from penstock.plan.row_functions import RecordExpression, RowExpression
from penstock.streams.application import Application
from penstock.streams.builder import StreamsBuilder
from penstock.streams.cogrouped import CogroupedKStream
from penstock.streams.driver import TopologyTestDriver
from penstock.streams.grouped import KGroupedStream
from penstock.streams.grouped_table import KGroupedTable
from penstock.streams.kstream import KStream
from penstock.streams.ktable import GlobalKTable, KTable
from penstock.streams.materialized import BufferConfig, Materialized, Suppressed
from penstock.streams.registry_serdes import RegistryAvroSerde, RegistryJsonSerde, RegistryProtobufSerde
from penstock.streams.running import run
from penstock.streams.serdes import (
    AvroSerde,
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntSerde,
    JsonSerde,
    LongSerde,
    ProtobufSerde,
    Serde,
    SerdeError,
    ShortSerde,
    StringSerde,
)
from penstock.streams.topology import Topology
from penstock.streams.windowed import EmitStrategy

__all__ = [
    "Application",
    "AvroSerde",
    "BooleanSerde",
    "BufferConfig",
    "BytesSerde",
    "CogroupedKStream",
    "ColumnExpression",
    "DeadLetters",
    "DoubleSerde",
    "EmitStrategy",
    "FailOnInvalidTimestamp",
    "FailureLetters",
    "FloatSerde",
    "GlobalKTable",
    "IntSerde",
    "JoinWindows",
    "JsonSerde",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KeyValueSpec",
    "LongSerde",
    "Materialized",
    "PartitionTimeOnInvalidTimestamp",
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "ProtobufSerde",
    "PunctuationType",
    "Record",
    "RecordExpression",
    "RegistryAvroSerde",
    "RegistryJsonSerde",
    "RegistryProtobufSerde",
    "RowExpression",
    "Serde",
    "SerdeError",
    "SessionSpec",
    "SessionWindows",
    "ShortSerde",
    "SkipOnInvalidTimestamp",
    "SlidingWindows",
    "StreamsBuilder",
    "StringSerde",
    "Suppressed",
    "TimeWindows",
    "Topology",
    "TopologyError",
    "TopologyTestDriver",
    "UnlimitedWindows",
    "VersionedSpec",
    "WallclockTime",
    "WindowSpec",
    "Windowed",
    "fail",
    "fail_processing",
    "run",
    "skip",
    "skip_processing",
]
