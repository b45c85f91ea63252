"""Change capture of MariaDB and MySQL, as Debezium's connectors: a snapshot of the tables, then every change.

    source      the connector and its task
    reading     events of the binary log as records and positions
    server      what is asked of the server, snapshots, the stream of the log
    columns     columns as schemas, and their values
    envelope    rows as Debezium's records

`server` imports PyMySQL and mysql-replication and is imported only by a connector that runs.
"""
