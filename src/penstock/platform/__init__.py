"""The platform in one command: starts broker, console and scripts as processes, watches them, stops them.

`supervisor` is the loop, `process` one child, `services` what there is to start. No service is imported here:
each runs in a process of its own, as it would alone. Called by `penstock up`.
"""
