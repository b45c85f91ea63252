"""HTTP: records as requests, and answers as records, with the settings of Confluent's HTTP connectors.

requests    the client: headers, credentials, what is tried again
templates   `${topic}`, `${key}` and fields in addresses
sink        records to requests
source      answers to records, with offsets and pages
"""
