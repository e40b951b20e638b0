"""Neural machine translation as in "Attention Is All You Need", and its baselines."""
