"""Score translations of the same text with several beams and exponents of the length penalty.

OUTPUT gets {"signature", "beam": [...], "alpha": [...]}, lists of {"beam", "alpha", "bleu",
"length"}: length is that of the translations, in words, divided by the references'. What is not
varied is the model's own.
"""

import argparse

from nmt import command
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import Scorer, check_parallel
from nmt.files import read_lines, write_json
from nmt.progress import progress
from nmt.serving.folder import TranslationModel

BEAMS = (1, 2, 4, 8, 16)
ALPHAS = (0, 0.3, 0.6, 1, 1.4, 1.8)


def main(args: argparse.Namespace) -> None:
    """Translate and score with each setting, and write all scores as JSON."""
    model = TranslationModel(args.model, gpus=args.gpus)
    model.halve_on_gpu()
    lines = list(read_lines(args.source))
    references = list(read_lines(args.references))
    check_parallel([(str(args.source), lines), (str(args.references), references)])
    name = "lowercased_bleu" if model.target_preprocessing.lowercase else "bleu"
    scorer = Scorer(METRICS[name], model.target_preprocessing.language)
    metric = scorer.sacrebleu_metric()
    scored = scorer.preprocess_references([references])
    sweep: dict[str, list] = {"beam": [], "alpha": []}
    settings = [("beam", value) for value in BEAMS] + [("alpha", value) for value in ALPHAS]
    for name, value in progress(settings, "sweeping", len(settings), "settings"):
        decoding = model.experiment.decoding.model_copy(update={name: value})
        translations = model.translate(lines, decoding)
        score = metric.corpus_score(scorer.preprocess(translations), scored)
        point = {"beam": decoding.beam, "alpha": decoding.alpha, "bleu": score.score}
        sweep[name].append(point | {"length": score.sys_len / score.ref_len})
    write_json(args.output, {"signature": scorer.full_signature(metric.get_signature()), **sweep})


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py")
    command.require(parser, "FILE", source="text", references="parallel to it", output="JSON")
    command.add_device(parser)
    command.run(main, parser)
