"""Avro, JSON Schema and Protobuf as Spark columns: one module a format, and the table that names them.

A format says which column a schema makes, how one value is read (evolved from its writer's schema to the
reader's) and written, and which schema rows have that come without one. Registries, frames, columns and
what is done with values that cannot be read are the business of `penstock.spark.decoding` and
`penstock.spark.encoding`.
"""
