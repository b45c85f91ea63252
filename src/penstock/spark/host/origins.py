"""Where a record was made from, as a header: an application that is asked to puts the place of each record it
reads into the record's headers. Headers go with a record through every operator, so the results carry it.

The console follows records by it (`console/following.py`).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

ORIGIN: Final = "penstock.origin"


def with_origin(records: DataFrame) -> DataFrame:
    """Each record with its own place as the last header; the place that an application before wrote is
    replaced, so that a chain of topics is followed one step at a time."""
    others = f.filter(f.col("headers"), lambda header: header["key"] != ORIGIN)
    place = f.concat_ws("/", f.col("topic"), f.col("partition"), f.col("offset"))
    mine = f.struct(f.lit(ORIGIN).alias("key"), f.encode(place, "UTF-8").alias("value"))
    return records.withColumn("headers", f.concat(others, f.array(mine)))
