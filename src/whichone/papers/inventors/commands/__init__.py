"""The commands that Inventors brings."""
