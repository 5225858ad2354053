"""One folder a paper: build, files, official scores, tables and figures, commands."""
