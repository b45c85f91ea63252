"""Stream semantics as Kafka Streams 4.x has them, one record at a time, without I/O, clock or threads.

Each operator is a frozen dataclass that says what it is, and whose `bind` gives the function that does it:
records in, records forwarded. State lives in stores made of bytes (`cells.py`), so that any host can save
and load it. Plans wire operators together; the test driver and Spark run them.
"""
