"""The rooms of the web page: one file a room, its pages and its part of the API."""
