"""What the handlers of share groups have in common."""
