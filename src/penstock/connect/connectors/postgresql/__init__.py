"""Change capture of PostgreSQL, as Debezium's PostgresConnector: a snapshot of the tables, then every change.

    source      settings, the connector and its task
    server      publication, slot, what the catalog says of a table
    pgoutput    messages of the logical decoding plugin `pgoutput`
    values      types of columns as schemas, and their text as values
    envelope    rows as Debezium's records

`server` imports psycopg and is imported only by a connector that runs.
"""
