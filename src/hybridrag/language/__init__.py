"""Normalise, detect, tokenise and split sentences in English and Japanese."""
