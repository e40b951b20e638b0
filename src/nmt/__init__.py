"""Neural machine translation as in "Attention Is All You Need", and its rivals.

Imports point one way: errors, files, progress, command <- configuration <- text <- data <- models
<- training, decoding <- evaluation <- paper.
"""

import os

# Threads that have nothing to do sleep instead of spinning: where something else uses a core, training is several
# times faster for it, and about as fast where nothing does. Read when torch loads, so it stands here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
