"""The REST Proxy as a process, against a broker in this one."""
