"""The metrics of translations, the significance of their differences, and the cost of training."""
