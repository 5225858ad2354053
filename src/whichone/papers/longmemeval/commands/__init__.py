"""The commands that LongMemEval brings."""
