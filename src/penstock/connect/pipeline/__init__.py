"""What happens to a record between a connector and a topic: converters, transforms, and what becomes of
records that fail. The tasks of a connector run this inside Spark's Python workers."""
