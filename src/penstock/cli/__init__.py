"""The command `penstock`: noun then verb, one module for each command, loaded when it is called.

`main` is the entry point and the only place where an error becomes a sentence and an exit code. Commands talk
to brokers through `penstock.client` and start services through `penstock.server`, `penstock.console` and
`penstock.platform`; nothing here knows the protocol.
"""
