"""Version 2 of the API: topics and partitions, producing, consumer instances. `routes` is the table."""
