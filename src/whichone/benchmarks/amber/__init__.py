"""AmbER sets: queries about entities that share a name, by the paper or as the released program."""
