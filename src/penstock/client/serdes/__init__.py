"""Serializers and deserializers of a Schema Registry: Avro, JSON Schema and Protobuf.

Classes have Confluent's Java names and settings. Each is given as `key.serializer`, `value.deserializer` and
so on, to a producer, a consumer, or to whatever has bytes of the wire format (`penstock.schemas.wire_format`)
and a topic's name.
"""
