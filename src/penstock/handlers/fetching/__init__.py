"""What fetch requests share: sessions, and the replica nearest to a client."""
