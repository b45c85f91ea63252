"""The shell of SQL: `penstock sql shell` and `ksql`. It speaks ksqlDB's REST API."""
