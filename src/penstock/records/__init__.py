"""Record batches as they stand on the wire and on disk: headers, codecs, records. No files, no sockets."""
