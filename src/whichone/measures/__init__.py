"""Rankings and answers in, scores out."""
