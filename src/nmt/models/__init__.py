"""The model families, all behind the protocol in nmt.models.protocol."""
