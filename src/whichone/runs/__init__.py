"""Asks a system a benchmark's questions; rankings, answers and traces on disk; resumes."""
