"""Single-message transforms: one file each, with Kafka's class names and settings (`transforms.table`)."""
