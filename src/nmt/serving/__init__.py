"""A trained model's folder, its exports, and plain text in and out."""
