"""What produce requests share: admission of transactional batches, and waiting for replicas."""
