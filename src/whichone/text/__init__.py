"""Normalisers and tokenisers, each named after the paper or program whose rules it follows."""
