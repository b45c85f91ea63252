"""The Kafka protocol as bytes: primitives, messages and error codes. No sockets, no decisions."""
