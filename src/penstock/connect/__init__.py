"""Connect: data in and out of topics without writing code.

Here stands the part that only decides: records as Kafka Connect has them (`data`), converters between
bytes and records, and single-message transforms. It reads no clock, no file and no socket.
"""
