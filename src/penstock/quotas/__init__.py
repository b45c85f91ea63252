"""Quotas of clients: rates and token buckets, which quota holds for whom, and for how long somebody is to be
muted. Pure arithmetic on times that are handed in; who mutes stands above (`server`)."""
