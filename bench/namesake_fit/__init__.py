"""The development table of `namesake`: its sets, the fit of its weights, and what is printed."""
