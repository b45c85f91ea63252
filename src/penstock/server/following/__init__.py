"""What follows the metadata: logs, coordinators, quotas and settings."""
