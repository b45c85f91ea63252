"""Settings of broker and topics under Kafka's names: definitions, defaults, checks, and where they are read from."""
