"""The official KILT scores: downstream, KILT and retrieval, from a gold file and a prediction file."""
