"""Kafka clients for people and services, thin over librdkafka (confluent-kafka).

`admin.Admin` asks about and changes topics, `messages.Messages` reads and writes records. Neither joins a
consumer group. The command line and the console call them; the broker never does. The binding is imported
when the first client is made, not when these modules are.
"""
