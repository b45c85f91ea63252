"""Kafka Connect's REST API over a worker: `rest.table` lists the routes."""
