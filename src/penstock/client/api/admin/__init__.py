"""An administrator's client on our own connection: topics, settings, groups, access, replicas, transactions
and the cluster. The command line and the services have theirs in `penstock.client.admin`."""
