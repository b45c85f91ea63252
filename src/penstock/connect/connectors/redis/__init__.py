"""Redis: topics to strings, hashes, lists, sets, sorted sets and streams, and a stream to a topic, with the
settings of Redis' own connectors."""
