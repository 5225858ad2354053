"""One file a dump format: how an item, a page or a page's views look in it."""
