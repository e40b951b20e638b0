"""Model cards: the README.md of a model's folder, and that of an export."""

import json
import textwrap

from nmt.configuration import Decoding, Vocabulary
from nmt.evaluation.metrics import METRICS
from nmt.serving.formats import MAX_POSITIONS

# Code that runs in an export's folder
USAGE = {
    "ctranslate2": """
        import ctranslate2
        from sentencepiece import SentencePieceProcessor

        source = SentencePieceProcessor("source.model")
        target = SentencePieceProcessor("target.model")
        translator = ctranslate2.Translator(".")
        text = {text}
        pieces = source.encode(" ".join(text.replace("▁", "_").split()), out_type=str)
        results = translator.translate_batch(
            [pieces],
            beam_size={beam},
            length_penalty={penalty:g},
            max_decoding_length=min(len(pieces) + {extra}, {positions} - 1),
        )
        print(target.decode(results[0].hypotheses[0]))
        """,
    "huggingface": """
        from transformers import MarianMTModel, MarianTokenizer

        tokenizer = MarianTokenizer.from_pretrained(".")
        model = MarianMTModel.from_pretrained(".")
        text = {text}
        inputs = tokenizer(" ".join(text.replace("▁", "_").split()), return_tensors="pt")
        longest = min(inputs.input_ids.size(1) + {extra} + 1, {positions})
        outputs = model.generate(**inputs, max_length=longest)
        print(tokenizer.decode(outputs[0], skip_special_tokens=True))
        """,
    "safetensors": """
        import json
        from safetensors import safe_open

        with safe_open("model.safetensors", framework="pt") as file:
            weights = {{name: file.get_tensor(name) for name in file.keys()}}
            configuration = json.loads(file.metadata()["configuration"])
        parameters = sum(tensor.numel() for tensor in weights.values())
        print(configuration["experiment"]["title"], parameters)
        """,
}


def model_card(configuration: dict, scores: dict[str, dict]) -> str:
    """Return the card of a model's folder.

    configuration: its configuration.json. scores: what score.py wrote, by split.
    """
    experiment = configuration["experiment"]
    provenance = configuration["provenance"]
    training = provenance["training"]
    settings = {key: experiment[key] for key in ("model", "training", "decoding")}
    lines = [
        f"# {experiment['title']}, {configuration['source']} to {configuration['target']}",
        "",
        f"Trained on: {configuration['corpus']}.",
        (
            f"License of the data: {configuration['license']}. What may be done with the model"
            " follows from it."
        ),
        "",
        weights(provenance["checkpoints"]),
        f"Seed {training['settings']['seed']}, {training['updates']} updates.",
        *divergence(training),
        "",
        "## Scores",
        "",
        *score_table(scores),
        "",
        "## How it was made",
        "",
        *map(call_line, training["made_by"]),
        "",
        "Packages: envs/requirements.txt of that commit.",
        "",
        "## Use",
        "",
        text_requirements(configuration),
        "",
        "    python src/translate.py --model FOLDER < source.txt > translations.txt",
        "",
        "## Settings",
        "",
        "```json",
        json.dumps(settings, indent=1),
        "```",
    ]
    return "\n".join(lines) + "\n"


def weights(checkpoints: list[str]) -> str:
    """Return the line on the checkpoints that the weights are, or are the mean of."""
    if len(checkpoints) > 1:
        return f"Weights: the mean of {', '.join(checkpoints)}."
    is_best = checkpoints[0].startswith("best-")
    which = ", the checkpoint with the lowest loss on the dev set" if is_best else ""
    return f"Weights: {checkpoints[0]}{which}."


def divergence(training: dict) -> list[str]:
    """Return the line on a training that has diverged; those of earlier versions do not say it."""
    if not training.get("diverged"):
        return []
    return ["The training has diverged: at its end the model was worse than an untrained one."]


def score_table(scores: dict[str, dict]) -> list[str]:
    """Return the lines of a table of all splits' scores, or one that says there are none."""
    rows = []
    for split, split_scores in scores.items():
        for metric in METRICS:
            if metric in split_scores:
                score = split_scores[metric]
                signature = score["signature"].replace("|", " ")
                sentences = split_scores["sentences"]
                rows.append(
                    f"| {split} | {sentences} | {metric} | {score['score']:.2f} | {signature} |"
                )
    if not rows:
        return ["None are given here: those of a run are in card.md beside the model's folder."]
    header = ["| split | sentences | score | value | signature |", "|---|---:|---|---:|---|"]
    return [*header, *rows]


def call_line(call: dict) -> str:
    """Return the line that describes the code and machine of one call of train.py."""
    line = (
        f"- commit {call['commit']}, torch {call['torch']}, {call['processes']} process(es) of"
        f" {call['threads']} thread(s) on {call['device']}"
    )
    # Trainings of earlier versions have not kept the command.
    return f"{line}: `{call['command']}`" if "command" in call else line


def export_card(configuration: dict, to: str, precision: str) -> str:
    """Return the card of an export: code that runs in its folder, and what text it requires."""
    decoding = Decoding(**configuration["experiment"]["decoding"])
    training = configuration["provenance"]["training"]
    code = textwrap.dedent(USAGE[to]).strip()
    code = code.format(
        beam=decoding.beam,
        penalty=length_power(decoding),
        extra=decoding.max_extra,
        positions=MAX_POSITIONS,
        # Trainings of earlier versions kept no example. As JSON, it is a string of Python too.
        text=json.dumps(training.get("example", "..."), ensure_ascii=False),
    )
    title = configuration["experiment"]["title"]
    lines = [
        f"# {title}, {configuration['source']} to {configuration['target']}, for {to}",
        "",
        f"Trained on: {configuration['corpus']}. License of the data: {configuration['license']}.",
        f"Weights in {precision}. {search_settings(decoding, to)}",
        "",
        text_requirements(configuration),
        "",
        "```python",
        code,
        "```",
    ]
    return "\n".join(lines) + "\n"


def search_settings(decoding: Decoding, to: str) -> str:
    """Return the sentences on the search that made the model's scores, and on the export's own."""
    formula = {
        "wu": f"((5 + |Y|) / 6)^{decoding.alpha:g}",
        "power": f"|Y|^{decoding.alpha:g}",
        "none": "1",
    }[decoding.penalty]
    text = (
        f"The scores of the model's own card were made with a beam of {decoding.beam} and log"
        f" probabilities divided by {formula}, where |Y| is the length of a translation in"
        " subwords, the end of sentence counted."
    )
    library = {"ctranslate2": "CTranslate2", "huggingface": "transformers"}.get(to)
    if library is None:
        return text
    nearest = ", the usual one, because it cannot do the same" if decoding.penalty == "wu" else ""
    return (
        f"{text} {library} divides them by |Y|^length_penalty; here it is"
        f" {length_power(decoding):g}{nearest}."
    )


def length_power(decoding: Decoding) -> float:
    """Return the exponent of |Y| that CTranslate2 and transformers call length_penalty.

    The penalty of Wu et al. has none, and gets the usual 1.
    """
    return {"power": decoding.alpha, "none": 0.0, "wu": 1.0}[decoding.penalty]


def text_requirements(configuration: dict) -> str:
    """Return the sentence that says how text has to be preprocessed for the model."""
    vocabulary = Vocabulary(**configuration["vocabulary"])
    steps = []
    if vocabulary.lowercase:
        steps.append("lower-cased")
    if vocabulary.normalize:
        steps.append("with Moses's punctuation normalization (sacremoses)")
    steps.append('with single spaces and "_" for "▁"')
    if vocabulary.tokenize:
        steps.append("tokenized by Moses (sacremoses)")
    afterwards = ", and detokenize what comes out" if vocabulary.tokenize else ""
    return (
        f"Subwords are of text {', '.join(steps)}, a sentence a line. translate.py sees to that;"
        f" anything else has to do it before{afterwards}."
    )
