"""RAG: a generator over documents that a question encoder retrieves, marginalised over the documents."""
