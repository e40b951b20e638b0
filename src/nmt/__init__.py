"""Neural machine translation as in "Attention Is All You Need", and its baselines.

Imports point one way: errors, files, progress, command, environment, provenance <- evaluation <-
configuration <- text <- data <- models <- decoding <- training <- serving <- paper <- benchmarks.
"""
