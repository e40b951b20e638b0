"""Beam search over the model protocol."""
