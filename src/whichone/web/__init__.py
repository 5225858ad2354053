"""The web page: see the confusions, ask people, keep the score."""
