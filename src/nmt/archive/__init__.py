"""The files that a reproduction rests on: their checksums, verification and packing."""
