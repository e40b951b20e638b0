"""A trained model's folder, its cards and exports, and the translation of plain text."""
