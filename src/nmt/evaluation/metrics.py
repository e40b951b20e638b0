"""What tables report of a row: metrics of its translations, and what its training cost.

The configuration validates names with this module, so it imports neither sacreBLEU nor sacremoses;
nmt.evaluation.scores computes what is declared here.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A metric: what tables call it, what it means, and how it is computed.

    scorer: the class of sacreBLEU that computes it from translations; None for perplexity, which
      perplexity.py computes from a model, and for the mean of sentences' BLEU on subwords, which
      tables ask for. Their differences are not tested for significance.
    lower_is_better: whether it counts errors.
    lowercase: whether case is ignored.
    moses_tokens: whether BLEU is computed on Moses tokens, and not on sacreBLEU's own 13a tokens.
      The fields below apply to Moses tokens only.
    normalize: whether Moses's punctuation normalization is applied before tokenization.
    map_quotes: whether German and French quotation marks are mapped to `"` before tokenization.
    split_compounds: whether compounds are split at hyphens after tokenization.
    published_as: the metric whose published numbers are set beside this one too, because papers do
      not say which of the two theirs are.
    """

    label: str
    description: str
    scorer: Literal["BLEU", "CHRF", "TER"] | None = "BLEU"
    lower_is_better: bool = False
    lowercase: bool = False
    moses_tokens: bool = False
    normalize: bool = False
    map_quotes: bool = False
    split_compounds: bool = False
    published_as: str | None = None

    @property
    def counts_case(self) -> bool:
        """Whether it is BLEU that systems without capitals cannot reach."""
        return self.scorer == "BLEU" and not self.lowercase


# BLEU on Moses tokens counts as Moses's multi-bleu.perl does, except that an n-gram order without
# any match is smoothed where multi-bleu.perl prints 0.
METRICS = {
    "bleu": Metric(
        "BLEU (sacreBLEU)",
        "BLEU of sacreBLEU on plain text with its own 13a tokens (Post 2018), comparable across"
        " papers.",
    ),
    "lowercased_bleu": Metric(
        "BLEU (sacreBLEU, lower-cased)",
        "BLEU of sacreBLEU (13a) without case.",
        lowercase=True,
    ),
    "chrf": Metric(
        "chrF",
        "F-score of character n-grams, recall counting twice (chrF2, Popović 2016), in percent.",
        scorer="CHRF",
    ),
    "ter": Metric(
        "TER",
        "edits needed for each reference word (Snover et al. 2006), in percent; lower is better.",
        scorer="TER",
        lower_is_better=True,
    ),
    "tokenized_bleu": Metric(
        "BLEU (tokenized)",
        "BLEU on Moses tokens, cased (multi-bleu.perl), as Vaswani et al. 2017 for English-French.",
        moses_tokens=True,
    ),
    "compound_split_bleu": Metric(
        "BLEU (tokenized, compounds split)",
        "BLEU on Moses tokens, compounds split, as Vaswani et al. 2017 for English-German.",
        moses_tokens=True,
        split_compounds=True,
    ),
    "quotes_mapped_bleu": Metric(
        "BLEU (tokenized, quotes mapped)",
        "BLEU on Moses tokens, cased, with German quotation marks as plain ones on both sides.",
        moses_tokens=True,
        map_quotes=True,
    ),
    "quotes_mapped_compound_split_bleu": Metric(
        "BLEU (tokenized, quotes mapped, compounds split)",
        "BLEU on Moses tokens with quotation marks so and compounds split, as some published"
        " scores for English-German.",
        moses_tokens=True,
        map_quotes=True,
        split_compounds=True,
        published_as="compound_split_bleu",
    ),
    "lowercased_tokenized_bleu": Metric(
        "BLEU (lower-cased, tokenized)",
        "BLEU on lower-cased, normalized Moses tokens, as most Multi30k papers print it.",
        moses_tokens=True,
        lowercase=True,
        normalize=True,
    ),
    "perplexity": Metric(
        "perplexity",
        "exp of the mean negative log-likelihood of a token (a subword, or a character where"
        " these are the vocabulary), end of sentence counted, without smoothing; comparable"
        " only between rows with the same vocabulary; lower is better.",
        scorer=None,
        lower_is_better=True,
    ),
    "sentence_bleu": Metric(
        "BLEU (mean of sentences)",
        "mean of smoothed BLEU of each sentence, on its subwords.",
        scorer=None,
    ),
}
# Languages that put no spaces between words, where words of Moses and TER mean nothing
WITHOUT_SPACES = ("zh", "ja", "th", "lo", "km", "my", "bo", "dz")


def metrics_for(target_language: str) -> dict[str, Metric]:
    """Return those of METRICS that make sense for a language."""
    if target_language not in WITHOUT_SPACES:
        return METRICS
    return {name: METRICS[name] for name in ("bleu", "chrf", "perplexity")}


# Costs that papers print, and the columns that tables have them in, if any
COSTS = {
    "parameters": "parameters_millions",
    "parameters_without_embeddings": None,
    "flops": "flops_6nd",
    "training_tokens": None,
    "gpu_hours": None,
    "flops_per_second": None,
}
