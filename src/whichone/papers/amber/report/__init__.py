"""Tables and figures of the AmbER paper."""
