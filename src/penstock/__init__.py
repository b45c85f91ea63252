"""Penstock: Kafka's protocol and log in Python, with every data pipeline on Apache Spark."""

__version__ = "0.1.0"
