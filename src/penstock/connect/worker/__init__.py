"""A worker: it keeps configurations, offsets and status in Kafka's topics, elects one driver among the
workers of its group, and runs every connector as a series of Spark jobs.

    settings      the worker's properties, under Kafka's names
    layout        keys and values of the three topics, as Kafka Connect writes them; pure
    state         what the config topic says; pure
    topics        a compacted topic read to its end, and written
    herder        what the REST API asks for: decides, writes, and tells the runs
    runs          one thread for each connector
    source_run, sink_run   batches of a source and of a sink
    election      which worker drives
"""
