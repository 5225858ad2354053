"""The explorer: benchmarks, their name sets and queries, what systems ranked, two systems compared."""
