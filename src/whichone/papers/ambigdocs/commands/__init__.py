"""The commands of AmbigDocs."""
