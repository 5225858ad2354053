"""One file a kind of source: how its files are cut, how a part is read, what goes into which table."""
