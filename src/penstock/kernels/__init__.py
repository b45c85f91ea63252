"""Stream semantics as Kafka Streams 4.x has them, one record at a time, without I/O, clock or threads.

Each operator is a frozen dataclass that describes it. Its `bind` returns the function that does the work: it
takes a record and forwards records. State lives in stores made of bytes (`cells.py`), so that any host can
save and load it. Plans connect operators; the test driver and Spark run them.
"""
