"""Language models behind an endpoint: calls, retries, cache, prompts."""
