"""Kafka's FileStream connectors: lines of a file to a topic, values of topics to lines of a file."""
