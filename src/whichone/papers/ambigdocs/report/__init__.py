"""Tables and figures of the AmbigDocs paper."""
