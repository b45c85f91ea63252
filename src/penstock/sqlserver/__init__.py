"""The SQL server: ksqlDB's REST API over a Kafka cluster.

    settings     a ksql-server.properties, read once
    metastore    streams, tables, types and queries: a state that is replayed from the command topic
    server       the parts put together; what the routes stand on
    persistent   queries that run on Spark, exactly once
    transient    push and pull queries, in this process
    routes       the HTTP interface

Nothing here decides what a statement means: that is `penstock.sql`.
"""
