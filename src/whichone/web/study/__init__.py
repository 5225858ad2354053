"""The user study: consent, three pages, one answer, and its results."""
