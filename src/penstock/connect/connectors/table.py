"""Which connectors there are, and where: a connector's module is loaded when it is asked for."""

from __future__ import annotations

from typing import Final

BUILT_IN: Final = (
    "penstock.connect.connectors.file_stream.source:FileStreamSource",
    "penstock.connect.connectors.file_stream.sink:FileStreamSink",
    "penstock.connect.connectors.jdbc.source:JdbcSource",
    "penstock.connect.connectors.jdbc.sink:JdbcSink",
    "penstock.connect.connectors.postgresql.source:PostgresSource",
    "penstock.connect.connectors.mysql.source:MySqlSource",
    "penstock.connect.connectors.datagen.source:DatagenSource",
    "penstock.connect.connectors.files.sink:FilesSink",
    "penstock.connect.connectors.files.source:FilesSource",
    "penstock.connect.connectors.files.source:SpoolDirCsvSource",
    "penstock.connect.connectors.files.source:SpoolDirJsonSource",
    "penstock.connect.connectors.files.source:SpoolDirLinesSource",
    "penstock.connect.connectors.delta.sink:DeltaSink",
    "penstock.connect.connectors.elasticsearch.sink:ElasticsearchSink",
    "penstock.connect.connectors.http.sink:HttpSink",
    "penstock.connect.connectors.http.source:HttpSource",
    "penstock.connect.connectors.mongodb.sink:MongoSink",
    "penstock.connect.connectors.mongodb.source:MongoSource",
    "penstock.connect.connectors.mqtt.sink:MqttSink",
    "penstock.connect.connectors.mqtt.source:MqttSource",
    "penstock.connect.connectors.redis.sink:RedisSink",
    "penstock.connect.connectors.redis.source:RedisStreamSource",
)
"""`module:class` of each."""
