"""A broker's metrics: which there are, where their values come from, and the page that Prometheus reads."""
