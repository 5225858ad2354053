"""AmbigDocs: one question about a shared name, and an answer for each of its bearers."""
