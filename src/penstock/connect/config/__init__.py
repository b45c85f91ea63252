"""Configurations of connectors: the settings that all have (`shared_settings`), and every mistake at once
(`validation`)."""
