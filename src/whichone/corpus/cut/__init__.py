"""Pages cut into passages, one file a way of cutting."""
