"""Word lists, a file a language: how answers ask back, refuse and speak of several namesakes."""
