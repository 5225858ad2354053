"""The weights of a cross-encoder that tells bearers of one name apart; `whichone` finds them in this folder."""
