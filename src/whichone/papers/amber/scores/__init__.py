"""AmbER's retrieval scores from a file of AmbER sets and a file of predictions."""
