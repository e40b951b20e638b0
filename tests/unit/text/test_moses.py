"""Moses normalization behind guards, against sacremoses by itself."""

import random

import pytest
import sacremoses

from nmt.text.moses import Normalizer

LANGUAGES = ["en", "de", "fr", "cs", "it"]

# What the regexes look for, and what stands beside it
PIECES = [
    *"ab1A2ſßıΣ_-–—.,;:!?()[]<>\"'`´‘’‚„“”…«»%&/@#$€º\\",
    *" \u00a0\t\r\n\x0b\x0c\x1c\x1f\x85\u2028\u3000",
    *["nº\u00a0", "...", "\u00a0%", "\u00a0cm", "\u00a0ºC", "1\u00a02", "''", "´´", '."', '".'],
    *["Dr.", "z.B.", "DOTMULTI", ".'", "don't", "l'eau"],
    *["No. 5", "  ", ") .", "( ", "U.S. a", " :"],
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_normalization_is_that_of_sacremoses(language):
    expected = sacremoses.MosesPunctNormalizer(language)
    ours = Normalizer(language)
    rng = random.Random(1)
    for _ in range(1000):
        line = "".join(rng.choices(PIECES, k=rng.randrange(16)))
        assert ours.normalize(line) == expected.normalize(line)
