"""Dialogs that change something: create a topic, delete one, produce a record. Each says inside itself why it
could not.
"""
