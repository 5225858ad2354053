"""Annotation campaigns: one queue of tasks, and for each kind what is asked and what it comes to."""
