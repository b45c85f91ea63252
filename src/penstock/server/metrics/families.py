"""Every metric of a broker, by name. docs/metrics.md has the same table, and a test holds the two equal.

Names are those that the JMX exporter makes of Kafka's MBeans: `kafka.server:type=ReplicaManager,
name=PartitionCount` is `kafka_server_replicamanager_partitioncount`. A meter of Kafka's (`…PerSec`) is a
counter `…_count`, with its rates beside it for the whole broker. What Kafka has no MBean for begins with
`penstock_`.
"""

from __future__ import annotations

from typing import Final

from penstock.metrics import process
from penstock.metrics.text import Family, Kind

_TOPIC: Final = "kafka_server_brokertopicmetrics_"
_REQUEST: Final = "kafka_network_requestmetrics_"
_REPLICAS: Final = "kafka_server_replicamanager_"
_CONTROLLER: Final = "kafka_controller_kafkacontroller_"
_RAFT: Final = "kafka_server_raft_metrics_"

RATES: Final = ("oneminuterate", "fiveminuterate", "fifteenminuterate")

TRAFFIC: Final = {
    "bytes_in": ("bytesinpersec", "Bytes of record batches that producers sent and that were appended."),
    "bytes_out": ("bytesoutpersec", "Bytes of record batches that consumers fetched."),
    "messages_in": ("messagesinpersec", "Records that producers sent and that were appended."),
    "bytes_rejected": ("bytesrejectedpersec", "Bytes that producers sent and that were refused."),
    "produce_requests": ("totalproducerequestspersec", "Appends that were asked for, one a partition."),
    "fetch_requests": ("totalfetchrequestspersec", "Reads that gave records or an error, one a partition."),
    "failed_produce_requests": ("failedproducerequestspersec", "Appends that were refused."),
    "failed_fetch_requests": ("failedfetchrequestspersec", "Reads that were refused."),
    "replication_bytes_in": ("replicationbytesinpersec", "Bytes that this broker fetched as a follower."),
    "replication_bytes_out": ("replicationbytesoutpersec", "Bytes that followers fetched from this broker."),
}
"""By the name of the count in `metrics.traffic`: the end of its metric's name, and what it means."""

ISRS: Final = {
    "shrinks": ("isrshrinkspersec", "A follower left an ISR that this broker leads."),
    "expands": ("isrexpandspersec", "A follower joined an ISR that this broker leads."),
    "failed_updates": ("failedisrupdatespersec", "The controller refused to change an ISR."),
}


def _gauges(prefix: str, **helps: str) -> dict[str, Family]:
    return {name: Family(f"{prefix}{name}", "gauge", text) for name, text in helps.items()}


def _meters(prefix: str, table: dict[str, tuple[str, str]], *labels: str) -> dict[str, Family]:
    return {
        name: Family(f"{prefix}{ending}_count", "counter", text, labels)
        for name, (ending, text) in table.items()
    }


def _rates(prefix: str, table: dict[str, tuple[str, str]]) -> dict[tuple[str, str], Family]:
    return {
        (name, rate): Family(f"{prefix}{ending}_{rate}", "gauge", f"{text} A second, for all topics.")
        for name, (ending, text) in table.items()
        for rate in (*RATES, "meanrate")
    }


def _by_api(ending: str, text: str, kind: Kind = "summary") -> Family:
    return Family(f"{_REQUEST}{ending}", kind, text, ("request",))


TOPIC_COUNTS: Final = _meters(_TOPIC, TRAFFIC, "topic")
"""With the label `topic`, and without it for all topics together."""
TRAFFIC_RATES: Final = _rates(_TOPIC, TRAFFIC)
ISR_COUNTS: Final = _meters(_REPLICAS, ISRS)
ISR_RATES: Final = _rates(_REPLICAS, ISRS)

REQUESTS: Final = _by_api("requestspersec_count", "Requests that were handled.", "counter")
REQUEST_BYTES: Final = _by_api("requestbytes_sum", "Bytes of requests.", "counter")
TOTAL_TIME: Final = _by_api("totaltimems", "Milliseconds from a request's arrival until its answer is made.")
LOCAL_TIME: Final = _by_api("localtimems", "Milliseconds in the handler.")
REMOTE_TIME: Final = _by_api("remotetimems", "Milliseconds of waiting: for records, replicas, a coordinator.")
QUEUE_TIME: Final = _by_api("requestqueuetimems", "Always 0: a connection has its own thread, and no queue.")
SEND_TIME: Final = _by_api("responsesendtimems", "Milliseconds for sending answers that have records.")

PURGATORY: Final = Family(
    "kafka_server_delayedoperationpurgatory_purgatorysize",
    "gauge",
    "Requests that wait.",
    ("delayedoperation",),
)

REPLICAS: Final = _gauges(
    _REPLICAS,
    partitioncount="Partitions with a replica here.",
    leadercount="Partitions that this broker leads.",
    underreplicatedpartitions="Partitions led here with a replica that is not in sync.",
    underminisrpartitioncount="Partitions led here with fewer replicas in sync than min.insync.replicas.",
    atminisrpartitioncount="Partitions led here with just as many replicas in sync as min.insync.replicas.",
    offlinereplicacount="Replicas in log directories that are offline.",
    reassigningpartitions="Partitions led here whose replicas are being moved.",
)

CONTROLLER: Final = _gauges(
    _CONTROLLER,
    activecontrollercount="1 on the node that is the active controller, and 0 elsewhere.",
    activebrokercount="Brokers that may lead.",
    fencedbrokercount="Brokers that are registered and fenced.",
    globaltopiccount="Topics of the cluster.",
    globalpartitioncount="Partitions of the cluster.",
    offlinepartitionscount="Partitions of the cluster without a leader.",
    preferredreplicaimbalancecount="Partitions of the cluster that another replica leads than the first.",
)

RAFT: Final = _gauges(
    _RAFT,
    current_epoch="Epoch of the metadata quorum.",
    current_leader="Id of the quorum's leader; -1 when none is known.",
    current_vote="Id of the node that this one voted for in this epoch; -1 for none.",
    high_watermark="Offset up to which the metadata is committed, as known here.",
    log_end_offset="End of the metadata log here.",
    log_end_epoch="Epoch of the last metadata record here.",
)
RAFT_STATE: Final = Family(f"{_RAFT}current_state", "gauge", "1 for the role of this node.", ("state",))

GROUPS: Final = Family(
    "kafka_server_group_coordinator_metrics_group_count",
    "gauge",
    "Groups whose coordinator is here.",
    ("protocol", "state"),
)
TRANSACTIONS: Final = Family(
    "penstock_transactional_ids", "gauge", "Transactional ids whose coordinator is here.", ("state",)
)
LOADED_SHARDS: Final = Family(
    "penstock_coordinator_partitions", "gauge", "Partitions that a coordinator serves here.", ("topic",)
)

FLUSHES: Final = Family(
    "kafka_log_logflushstats_logflushrateandtimems",
    "summary",
    "Milliseconds for making a log durable.",
    ("directory",),
)
LOG_SIZES: Final = Family("kafka_log_log_size", "gauge", "Bytes of a replica.", ("topic", "partition"))
OFFLINE_DIRECTORIES: Final = Family(
    "kafka_log_logmanager_offlinelogdirectorycount", "gauge", "Log directories that have failed."
)

CONNECTIONS: Final = Family(
    "kafka_server_socket_server_metrics_connection_count", "gauge", "Connections that are open."
)


def families() -> list[Family]:
    """All of them, in the order of this file."""
    found: list[Family] = []
    for name, value in globals().items():
        if name.isupper() and isinstance(value, Family):
            found.append(value)
        elif name.isupper() and isinstance(value, dict):
            found += [each for each in value.values() if isinstance(each, Family)]
    return [*found, *process.FAMILIES]
