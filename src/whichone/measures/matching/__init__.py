"""Does a retrieved passage hold the answer? The published matchers, by name."""
