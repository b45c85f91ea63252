"""Who asks, and what a principal may do. Pure values and decisions: no socket, no clock, no Kafka message.

    Principal                the name behind a request                         principals
    Operation, ResourceType  what can be asked for, with Kafka's codes          operations
    Access, Open, …          what an API or a route asks for, declared as data  access
    Authorizer, AllowAll     decides whether a principal may                    authorizer
    SaslAuthentication       how a connection proves its principal              authentication

Used by the handlers (each API declares its `ACCESS` beside `VERSIONS`), by sessions of the server, and by the
HTTP services (each route declares its `access` beside its path).
"""
