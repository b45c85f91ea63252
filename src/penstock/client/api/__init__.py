"""The Python client that people import: Java's names and meanings, thin over librdkafka.

`penstock.client` exports what stands here. The command line and the services use the modules beside this
package.
"""
