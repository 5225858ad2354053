"""Pages in, a corpus out: passages, pages and the names that point at pages."""
