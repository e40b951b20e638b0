"""Text: readers, normalization, cleaning, the demo grammar and subwords."""
