"""One file a dump format: bytes in, records out."""
