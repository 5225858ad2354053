"""Tables and figures of the KILT paper."""
