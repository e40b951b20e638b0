"""Search, sampling and forced decoding over the model protocol."""
