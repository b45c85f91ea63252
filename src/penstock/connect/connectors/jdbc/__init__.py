"""Confluent's JDBC connectors over SQLAlchemy: tables to topics, and topics to tables.

Modules other than `source`, `sink` and `settings` import SQLAlchemy, and are imported only by a connector
that runs.
"""
