"""Topics to Elasticsearch or OpenSearch, with the settings of Confluent's ElasticsearchSinkConnector. Both
have the same bulk API, which is spoken directly: the client of each refuses the other's server."""
