"""Records, schemas and values as Kafka Connect has them."""
