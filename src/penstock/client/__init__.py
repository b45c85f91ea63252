"""Kafka clients for Python.

For people: `Producer`, `Consumer` and what they take and raise, with Java's names and meanings
(`penstock.client.api`). For the command line and the services: `admin.Admin`, `messages.Messages` and the
modules beside them. The binding (librdkafka) is imported when the first client is made, and a name of the
library when it is first used, so that `penstock --help` loads neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.client.api.admin.access import AclBinding as AclBinding
    from penstock.client.api.admin.access import AclBindingFilter as AclBindingFilter
    from penstock.client.api.admin.access import ClientQuotaAlteration as ClientQuotaAlteration
    from penstock.client.api.admin.access import ClientQuotaFilterComponent as ClientQuotaFilterComponent
    from penstock.client.api.admin.access import UserScramCredentialDeletion as UserScramCredentialDeletion
    from penstock.client.api.admin.access import UserScramCredentialUpsertion as UserScramCredentialUpsertion
    from penstock.client.api.admin.client import Admin as Admin
    from penstock.client.api.admin.cluster import FeatureUpdate as FeatureUpdate
    from penstock.client.api.admin.cluster import Node as Node
    from penstock.client.api.admin.cluster import RaftVoterEndpoint as RaftVoterEndpoint
    from penstock.client.api.admin.configs import AlterConfigOp as AlterConfigOp
    from penstock.client.api.admin.configs import ConfigEntry as ConfigEntry
    from penstock.client.api.admin.configs import ConfigResource as ConfigResource
    from penstock.client.api.admin.groups import ConsumerGroupDescription as ConsumerGroupDescription
    from penstock.client.api.admin.groups import GroupListing as GroupListing
    from penstock.client.api.admin.groups import MemberToRemove as MemberToRemove
    from penstock.client.api.admin.replicas import TopicPartitionReplica as TopicPartitionReplica
    from penstock.client.api.admin.share_groups import ShareGroupDescription as ShareGroupDescription
    from penstock.client.api.admin.share_groups import SharePartitionOffsetInfo as SharePartitionOffsetInfo
    from penstock.client.api.admin.streams_groups import StreamsGroupDescription as StreamsGroupDescription
    from penstock.client.api.admin.topics import NewPartitions as NewPartitions
    from penstock.client.api.admin.topics import NewTopic as NewTopic
    from penstock.client.api.admin.topics import OffsetSpec as OffsetSpec
    from penstock.client.api.admin.topics import TopicDescription as TopicDescription
    from penstock.client.api.admin.topics import TopicListing as TopicListing
    from penstock.client.api.admin.transactions import AbortTransactionSpec as AbortTransactionSpec
    from penstock.client.api.aio import AsyncConsumer as AsyncConsumer
    from penstock.client.api.aio import AsyncProducer as AsyncProducer
    from penstock.client.api.broker_errors import *  # noqa: F403
    from penstock.client.api.consumer import Consumer as Consumer
    from penstock.client.api.exceptions import *  # noqa: F403
    from penstock.client.api.futures import RecordFuture as RecordFuture
    from penstock.client.api.partitioners import ClusterView as ClusterView
    from penstock.client.api.partitioners import Murmur2Partitioner as Murmur2Partitioner
    from penstock.client.api.partitioners import Partitioner as Partitioner
    from penstock.client.api.partitioners import RoundRobinPartitioner as RoundRobinPartitioner
    from penstock.client.api.partitioners import StickyPartitioner as StickyPartitioner
    from penstock.client.api.producer import Producer as Producer
    from penstock.client.api.rebalancing import RebalanceListener as RebalanceListener
    from penstock.client.api.records import ConsumerRecord as ConsumerRecord
    from penstock.client.api.records import ConsumerRecords as ConsumerRecords
    from penstock.client.api.records import OffsetAndMetadata as OffsetAndMetadata
    from penstock.client.api.records import OffsetAndTimestamp as OffsetAndTimestamp
    from penstock.client.api.records import ProducerRecord as ProducerRecord
    from penstock.client.api.records import RecordMetadata as RecordMetadata
    from penstock.client.api.records import TopicPartition as TopicPartition
    from penstock.client.api.serializers import BooleanDeserializer as BooleanDeserializer
    from penstock.client.api.serializers import BooleanSerializer as BooleanSerializer
    from penstock.client.api.serializers import BytesDeserializer as BytesDeserializer
    from penstock.client.api.serializers import BytesSerializer as BytesSerializer
    from penstock.client.api.serializers import Deserializer as Deserializer
    from penstock.client.api.serializers import DoubleDeserializer as DoubleDeserializer
    from penstock.client.api.serializers import DoubleSerializer as DoubleSerializer
    from penstock.client.api.serializers import FloatDeserializer as FloatDeserializer
    from penstock.client.api.serializers import FloatSerializer as FloatSerializer
    from penstock.client.api.serializers import IntegerDeserializer as IntegerDeserializer
    from penstock.client.api.serializers import IntegerSerializer as IntegerSerializer
    from penstock.client.api.serializers import JsonDeserializer as JsonDeserializer
    from penstock.client.api.serializers import JsonSerializer as JsonSerializer
    from penstock.client.api.serializers import LongDeserializer as LongDeserializer
    from penstock.client.api.serializers import LongSerializer as LongSerializer
    from penstock.client.api.serializers import Serializer as Serializer
    from penstock.client.api.serializers import ShortDeserializer as ShortDeserializer
    from penstock.client.api.serializers import ShortSerializer as ShortSerializer
    from penstock.client.api.serializers import StringDeserializer as StringDeserializer
    from penstock.client.api.serializers import StringSerializer as StringSerializer
    from penstock.client.api.serializers import UUIDDeserializer as UUIDDeserializer
    from penstock.client.api.serializers import UUIDSerializer as UUIDSerializer
    from penstock.client.api.serializers import VoidDeserializer as VoidDeserializer
    from penstock.client.api.serializers import VoidSerializer as VoidSerializer
    from penstock.client.api.share import AcknowledgeType as AcknowledgeType
    from penstock.client.api.share import ShareConsumer as ShareConsumer
    from penstock.client.serdes.avro import KafkaAvroDeserializer as KafkaAvroDeserializer
    from penstock.client.serdes.avro import KafkaAvroSerializer as KafkaAvroSerializer
    from penstock.client.serdes.json_schema import KafkaJsonSchemaDeserializer as KafkaJsonSchemaDeserializer
    from penstock.client.serdes.json_schema import KafkaJsonSchemaSerializer as KafkaJsonSchemaSerializer
    from penstock.client.serdes.protobuf import KafkaProtobufDeserializer as KafkaProtobufDeserializer
    from penstock.client.serdes.protobuf import KafkaProtobufSerializer as KafkaProtobufSerializer

_HOMES = {
    "Admin": "admin.client",
    **dict.fromkeys(
        ("NewPartitions", "NewTopic", "OffsetSpec", "TopicDescription", "TopicListing"), "admin.topics"
    ),
    **dict.fromkeys(("AlterConfigOp", "ConfigEntry", "ConfigResource"), "admin.configs"),
    **dict.fromkeys(("ConsumerGroupDescription", "GroupListing", "MemberToRemove"), "admin.groups"),
    **dict.fromkeys(
        (
            "AclBinding",
            "AclBindingFilter",
            "ClientQuotaAlteration",
            "ClientQuotaFilterComponent",
            "UserScramCredentialDeletion",
            "UserScramCredentialUpsertion",
        ),
        "admin.access",
    ),
    **dict.fromkeys(("ShareGroupDescription", "SharePartitionOffsetInfo"), "admin.share_groups"),
    "StreamsGroupDescription": "admin.streams_groups",
    **dict.fromkeys(("TopicPartitionReplica",), "admin.replicas"),
    **dict.fromkeys(("AbortTransactionSpec",), "admin.transactions"),
    **dict.fromkeys(("FeatureUpdate", "Node", "RaftVoterEndpoint"), "admin.cluster"),
    "AsyncConsumer": "aio",
    "AsyncProducer": "aio",
    "Consumer": "consumer",
    "Producer": "producer",
    "RecordFuture": "futures",
    **dict.fromkeys(("AcknowledgeType", "ShareConsumer"), "share"),
    "RebalanceListener": "rebalancing",
    **dict.fromkeys(
        (
            "ConsumerRecord",
            "ConsumerRecords",
            "OffsetAndMetadata",
            "OffsetAndTimestamp",
            "ProducerRecord",
            "RecordMetadata",
            "TopicPartition",
        ),
        "records",
    ),
}


def __getattr__(name: str) -> Any:
    if name.startswith(("KafkaAvro", "KafkaJsonSchema", "KafkaProtobuf")):
        kind = "avro" if "Avro" in name else "json_schema" if "Json" in name else "protobuf"
        return getattr(import_module(f"penstock.client.serdes.{kind}"), name)
    if name in _HOMES:
        return getattr(import_module(f"penstock.client.api.{_HOMES[name]}"), name)
    for module in _ENDINGS:
        if name.endswith(_ENDINGS[module]):
            found = getattr(import_module(f"penstock.client.api.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_ENDINGS = {
    "serializers": ("Serializer", "Deserializer"),
    "partitioners": ("Partitioner", "ClusterView"),
    "exceptions": ("Exception",),
    "broker_errors": ("Exception",),
}
