"""The web console: topics and their messages, live. Its own process, a Kafka client like any other.

`app.run` serves a JSON API (`api`) and the pages (`pages`), both over one `backend.Backend`. Nothing here
talks to librdkafka but `client_backend`, and nothing but pages, components and dialogs knows NiceGUI.
"""
