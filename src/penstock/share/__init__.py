"""Share groups (KIP-932): records of a partition handed out one by one to many consumers, and taken back.

`deliveries` says what happened to each record of a partition, `served` is that partition as its leader serves
it, `sessions` are the consumers' sessions. `coordinator` keeps the state of partitions durably, in shards of
`__share_group_state`. Members and their assignments are the group coordinator's (`penstock.groups`).
"""
