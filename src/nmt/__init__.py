"""Neural machine translation as in "Attention Is All You Need", and its rivals.

Imports point one way: errors, files, progress, command, environment, measurement <- configuration
<- text <- data <- models <- training, decoding, peers <- evaluation <- paper.
"""
