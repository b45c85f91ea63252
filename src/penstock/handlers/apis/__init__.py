"""The APIs of the protocol, one file each: the versions that are served, the access that is asked for, and
the handler."""
