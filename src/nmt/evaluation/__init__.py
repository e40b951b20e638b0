"""Scores in their named variants, and cost."""
