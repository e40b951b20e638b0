"""Text: downloads, readers, preprocessing, the grammar of the demo corpus, and subwords."""
