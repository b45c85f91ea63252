-- Cards with more than three authorisations in five seconds.
-- Run it with: ksql -f examples/sql/fraud.sql

SET 'auto.offset.reset' = 'earliest';

CREATE STREAM IF NOT EXISTS authorisations (card STRING KEY, amount DECIMAL(9, 2), shop STRING)
  WITH (kafka_topic = 'authorisations', value_format = 'JSON', partitions = 2);

-- A window of five seconds begins every second, so that no burst falls between two windows.
CREATE TABLE IF NOT EXISTS possible_fraud AS
  SELECT card, COUNT(*) AS attempts, SUM(amount) AS total
  FROM authorisations
  WINDOW HOPPING (SIZE 5 SECONDS, ADVANCE BY 1 SECOND)
  GROUP BY card
  HAVING COUNT(*) > 3
  EMIT CHANGES;

INSERT INTO authorisations VALUES ('4556-0001', 12.50, 'book shop');
INSERT INTO authorisations VALUES ('4556-0002', 99.90, 'electronics');
INSERT INTO authorisations VALUES ('4556-0002', 99.90, 'electronics');
INSERT INTO authorisations VALUES ('4556-0002', 99.90, 'electronics');
INSERT INTO authorisations VALUES ('4556-0002', 99.90, 'electronics');

SELECT card, attempts, total FROM possible_fraud EMIT CHANGES LIMIT 1;
