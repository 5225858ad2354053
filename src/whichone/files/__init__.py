"""What lies on disk: lines, tables and folders."""
