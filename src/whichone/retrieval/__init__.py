"""Questions in, rankings out."""
