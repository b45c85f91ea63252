-- Errors of each host, minute by minute.
-- Run it with: ksql -f examples/sql/errors_per_minute.sql

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM IF NOT EXISTS log_lines (host STRING KEY, level STRING, message STRING)
  WITH (kafka_topic = 'log-lines', value_format = 'JSON', partitions = 2);

CREATE TABLE IF NOT EXISTS errors_per_minute AS
  SELECT host, COUNT(*) AS errors, LATEST_BY_OFFSET(message) AS latest
  FROM log_lines
  WINDOW TUMBLING (SIZE 1 MINUTE)
  WHERE level = 'ERROR'
  GROUP BY host
  EMIT CHANGES;

INSERT INTO log_lines VALUES ('web-1', 'INFO', 'started');
INSERT INTO log_lines VALUES ('web-1', 'ERROR', 'disk is full');

SELECT host, errors, latest FROM errors_per_minute EMIT CHANGES LIMIT 1;
