"""The group coordinator: for now committed offsets, kept in `__consumer_offsets`. Decide → records →
replay."""
