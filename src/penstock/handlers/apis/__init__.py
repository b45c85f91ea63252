"""One file per API: the versions that it serves, and what it does with a request."""
