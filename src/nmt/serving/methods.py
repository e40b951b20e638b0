"""The ways to translate a block of lines: search, sampling and forced decoding."""

from collections.abc import Callable, Iterator
from typing import Any

from nmt.decoding.sampling import Sampling
from nmt.decoding.translator import (
    TranslatedBatch,
    force_tokens,
    sample_tokens,
    translate_tokens,
)
from nmt.errors import UserError
from nmt.serving.folder import TranslationModel

# From a block's sources in tokens, its translations to score, and the number of its first line to
# batches of hypotheses
Method = Callable[[list[list[int]], list[str], int], Iterator[TranslatedBatch]]


def choose_method(
    model: TranslationModel,
    search_settings: dict[str, Any],
    sampling_settings: dict[str, Any],
    sample: bool,
    forced: bool,
    n_best: int | None,
) -> Method:
    """Return search, sampling or forced decoding, as translate.py's options say.

    search_settings: what replaces the model's own. sampling_settings: of Sampling. n_best:
    translations of each line, one when it is None. Raises UserError for options that contradict
    each other.
    """
    decoding = model.experiment.decoding.model_copy(update=search_settings)
    if decoding.penalty == "none" and "alpha" in search_settings:
        raise UserError("--alpha is a length penalty's exponent, and there is none: leave it out.")
    sampling = Sampling(**sampling_settings)
    count = n_best or 1
    if not sample and sampling != Sampling():
        raise UserError(
            "--temperature, --top-k, --top-p and --seed are for translations drawn at random: add"
            " --sample."
        )
    if sampling.top_p > 1:
        raise UserError("--top-p is a probability: give one up to 1.")
    if (forced or sample) and not search_settings.keys().isdisjoint(("beam", "stop")):
        raise UserError(
            "--beam and --stop are for search: leave them out with --forced and --sample."
        )
    if forced:
        if sample or n_best:
            raise UserError(
                "--forced scores one given translation a line: leave --sample and --n-best out."
            )
        return lambda sources, targets, first_number: force_tokens(
            model.model, sources, model.encode_target(targets, first_number + 1), decoding
        )
    if sample:
        return lambda sources, _, first_number: sample_tokens(
            model.model, sources, decoding, sampling, count, first_number
        )
    if count > decoding.beam:
        raise UserError(
            f"a beam of {decoding.beam} does not find {count} translations: add --beam {count}."
        )
    return lambda sources, *_: translate_tokens(model.model, sources, decoding, count)
