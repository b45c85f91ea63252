"""MQTT: topics of an MQTT broker to a topic, and back, with the settings of Confluent's MQTT connectors."""
