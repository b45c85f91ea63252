"""The API of connectors: what a connector brings, and what the worker asks of it.

    ConfigDef           the settings of a connector, in Kafka's terms        config_def
    SourceConnector     divides a source among tasks                         source
    SourceTask          reads one batch from where the last one ended
    SinkConnector       divides topics among tasks                           sink
    SinkTask            writes one batch and says when it is safe
    run_source, …       runs a connector without broker or Spark             test_kit

A connector is found by its class name (`penstock.connect.plugins`).
"""

from penstock.connect.api.config_def import ConfigDef, ConfigKey, Importance, Kind, Width
from penstock.connect.api.sink import SinkConnector, SinkTask
from penstock.connect.api.source import SourceConnector, SourceRecord, SourceTask
from penstock.connect.data.record import ConnectRecord, Header

__all__ = [
    "ConfigDef",
    "ConfigKey",
    "ConnectRecord",
    "Header",
    "Importance",
    "Kind",
    "SinkConnector",
    "SinkTask",
    "SourceConnector",
    "SourceRecord",
    "SourceTask",
    "Width",
]
