"""Text: readers, normalisation, cleaning, the demo grammar and subwords."""
