"""A small model that reads a question with a bearer's passage: its data, training, weights and table."""
