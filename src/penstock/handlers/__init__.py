"""One file per API: read the request, ask the broker's parts, give a `Reply` or a `Wait`. Nothing here blocks
on a socket or a condition."""
