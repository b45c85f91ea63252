"""Protobuf: .proto text to descriptors (`parsing`) and back (`writing`), their meaning, compatibility.

A schema is a FileDescriptorProto, which is also what Confluent's Python client registers.
"""
