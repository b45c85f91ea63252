"""MongoDB: topics to collections, and change streams to topics, with the settings of MongoDB's own
connectors."""
