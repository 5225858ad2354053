"""Pages cut into passages: by words, tokens or whole, and as KILT's chunks."""
