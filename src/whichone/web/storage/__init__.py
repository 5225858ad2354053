"""Where answers are kept: SQLite by default, PostgreSQL by a URL."""
