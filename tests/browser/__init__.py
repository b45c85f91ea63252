"""The console in a real browser, in front of a real broker."""
