"""Confluent's data generator: records of its quick-starts, the same for the same seed."""
