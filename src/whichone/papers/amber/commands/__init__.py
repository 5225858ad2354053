"""The commands of AmbER."""
