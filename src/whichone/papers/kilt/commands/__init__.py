"""The commands of KILT."""
