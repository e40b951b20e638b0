"""Token files and the batches made from them."""
