"""Agents: questions and tools in, answers and traces out."""
