"""Leaderboards: uploads, their scoring in the background, the tables."""
