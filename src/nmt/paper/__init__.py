"""From scores to tables and figures, with provenance."""
