"""Tables in, queries out."""
