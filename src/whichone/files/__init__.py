"""What is on disk: lines, tables and folders."""
