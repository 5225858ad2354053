"""Tables and figures of the papers, from anybody's runs."""
