"""Neural machine translation as in "Attention Is All You Need", and its rivals.

Imports point one way: errors, files, progress, command <- configuration <- text <- data <- models
<- training, decoding <- evaluation <- paper.
"""
