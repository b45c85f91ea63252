"""Topics to files in a directory, an S3-compatible bucket or HDFS, with the settings of Confluent's S3 and
HDFS sinks."""
