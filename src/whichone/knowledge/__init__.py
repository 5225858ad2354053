"""Dumps and catalogues in, tables out; the name index; lookups."""
