"""The commands of PopQA."""
