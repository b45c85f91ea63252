-- What VIP users do: clicks joined to a table of users.
-- Run it with: ksql -f examples/sql/vip_users.sql

SET 'auto.offset.reset' = 'earliest';

CREATE TABLE IF NOT EXISTS users (id STRING PRIMARY KEY, name STRING, level STRING)
  WITH (kafka_topic = 'users', value_format = 'JSON', partitions = 2);
CREATE STREAM IF NOT EXISTS clicks (user_id STRING KEY, page STRING)
  WITH (kafka_topic = 'clicks', value_format = 'JSON', partitions = 2);

CREATE STREAM IF NOT EXISTS vip_actions AS
  SELECT c.user_id AS user_id, u.name AS name, c.page AS page
  FROM clicks c
  JOIN users u ON c.user_id = u.id
  WHERE u.level = 'Platinum'
  EMIT CHANGES;

INSERT INTO users VALUES ('u1', 'Ann', 'Platinum');
INSERT INTO users VALUES ('u2', 'Bob', 'Silver');
INSERT INTO clicks VALUES ('u2', '/home');
INSERT INTO clicks VALUES ('u1', '/checkout');

SELECT user_id, name, page FROM vip_actions EMIT CHANGES LIMIT 1;
