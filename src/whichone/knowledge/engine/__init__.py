"""Where the work of a knowledge base is done besides this process."""
