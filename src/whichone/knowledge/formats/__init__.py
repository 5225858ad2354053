"""One file a format: how its files are cut, read and put into the tables."""
