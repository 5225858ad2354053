"""KILT: eleven datasets of five tasks over one snapshot of Wikipedia."""
