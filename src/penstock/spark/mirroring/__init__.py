"""The copy of a flow on Spark: one streaming query, whose batches are ranges of offsets.

The ranges travel to the tasks, not the records. A task reads the stored batches of its ranges from the source
and writes them to the target (`penstock.wire.relaying`), so no record crosses the bridge between the JVM and
Python. All tasks of a batch share one transaction of the target.
"""
