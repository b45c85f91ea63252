"""Numbers about a running process: counters, rates, histograms, and the text that Prometheus reads.

Pure: time is handed in, and only `process` asks the machine. A number is counted where it happens, and read
when it is scraped.
"""
