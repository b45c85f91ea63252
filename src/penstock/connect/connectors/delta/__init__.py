"""Topics to Delta tables, which Spark and others read: a directory or a bucket with a log of commits."""
