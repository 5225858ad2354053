"""Entity linkers as retrievers: from mentions in a question to pages, without searching text."""
