"""Self-contained pages of a reproduction: tables and figures, attention, translations."""
