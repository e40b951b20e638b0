"""What a model's folder, or its export, says of itself in its README.md."""

import json
import textwrap

from nmt.configuration import Decoding, Vocabulary
from nmt.evaluation.metrics import METRICS

USAGE = {
    "ctranslate2": (
        """
        import ctranslate2
        import sentencepiece

        source, target = (sentencepiece.SentencePieceProcessor(f"{{side}}.model") for side in ("source", "target"))
        pieces = source.encode("{text}", out_type=str)
        translator = ctranslate2.Translator(".")
        options = {{"beam_size": {beam}, "length_penalty": {penalty:g}, "max_decoding_length": len(pieces) + {extra}}}
        found = translator.translate_batch([pieces], **options)
        print(target.decode(found[0].hypotheses[0]))
        """
    ),
    "huggingface": (
        """
        from transformers import MarianMTModel, MarianTokenizer

        tokenizer, model = (each.from_pretrained(".") for each in (MarianTokenizer, MarianMTModel))
        found = model.generate(**tokenizer("{text}", return_tensors="pt"))
        print(tokenizer.decode(found[0], skip_special_tokens=True))
        """
    ),
    "safetensors": (
        """
        import json
        from safetensors import safe_open

        with safe_open("model.safetensors", framework="pt") as file:
            weights = {{name: file.get_tensor(name) for name in file.keys()}}
            configuration = json.loads(file.metadata()["configuration"])
        print(configuration["experiment"]["title"], sum(tensor.numel() for tensor in weights.values()))
        """
    ),
}


def card(configuration: dict, scores: dict[str, dict]) -> str:
    """Of a model's folder: `configuration` is its configuration.json, `scores` what score.py wrote,
    by split.
    """
    experiment, provenance = configuration["experiment"], configuration["provenance"]
    training = provenance["training"]
    lines = [
        f"# {experiment['title']}, {configuration['source']} to {configuration['target']}",
        "",
        f"Trained on: {configuration['corpus']}.",
        (
            f"License of the data: {configuration['license']}. What may be done with the model"
            " follows from it."
        ),
        "",
        f"Weights: the mean of {', '.join(provenance['checkpoints'])}.",
        f"Seed {training['settings']['seed']}, {training['updates']} updates.",
        "",
        "## Scores",
        "",
        *(score_table(scores) or ["None have been written here."]),
        "",
        "## How it was made",
        "",
        *(
            f"- commit {call['commit']}, torch {call['torch']}, {call['processes']} process(es) of"
            f" {call['threads']} thread(s) on {call['device']}"
            + (f": `{call['command']}`" if "command" in call else "")
            for call in training["made_by"]
        ),
        "",
        "Packages: envs/requirements.txt of that commit.",
        "",
        "## Use",
        "",
        text_needs(configuration),
        "",
        "    python src/translate.py --model FOLDER < source.txt > translations.txt",
        "",
        "## Settings",
        "",
        "```json",
        json.dumps({key: experiment[key] for key in ("model", "training", "decoding")}, indent=1),
        "```",
    ]
    return "\n".join(lines) + "\n"


def score_table(scores: dict[str, dict]) -> list[str]:
    rows = [
        f"| {split} | {found['sentences']} | {name} | {score['score']:.2f} |"
        f" {score['signature'].replace('|', ' ')} |"
        for split, found in scores.items()
        for name, score in ((name, found[name]) for name in METRICS if name in found)
    ]
    return rows and [
        "| split | sentences | score | value | signature |",
        "|---|---:|---|---:|---|",
        *rows,
    ]


def usage(configuration: dict, to: str, precision: str) -> str:
    """Of an export: code that runs in its folder, and what its text must be like."""
    decoding = Decoding(**configuration["experiment"]["decoding"])
    text = "a dog is running" if configuration["source"] == "en" else "..."
    code = textwrap.dedent(USAGE[to]).strip()
    code = code.format(
        beam=decoding.beam, penalty=length_power(decoding), extra=decoding.max_extra, text=text
    )
    lines = [
        (
            f"# {configuration['experiment']['title']}, {configuration['source']} to"
            f" {configuration['target']}, for {to}"
        ),
        "",
        f"Trained on: {configuration['corpus']}. License of the data: {configuration['license']}.",
        (
            f"Weights in {precision}. Here a beam of {decoding.beam} and the length penalty"
            f" {decoding.penalty} with alpha {decoding.alpha:g} made the scores of the model's own"
            " card; other libraries divide by |Y|^length_penalty, here with"
            f" {length_power(decoding):g}."
        ),
        "",
        text_needs(configuration),
        "",
        "```python",
        code,
        "```",
    ]
    return "\n".join(lines) + "\n"


def length_power(decoding: Decoding) -> float:
    """The power of |Y| that other libraries call length_penalty; Wu et al.'s is none, and gets
    their usual 1.
    """
    return {"power": decoding.alpha, "none": 0.0, "wu": 1.0}[decoding.penalty]


def text_needs(configuration: dict) -> str:
    vocabulary = Vocabulary(**configuration["vocabulary"])
    done = [
        what
        for what, wanted in (
            ("lower-cased", vocabulary.lowercase),
            ("with Moses's punctuation normalization", vocabulary.normalize),
            ("tokenized by Moses", vocabulary.tokenize),
        )
        if wanted
    ]
    if not done:
        return "Text goes in as it is, a sentence a line."
    after = ", and detokenize what comes out" if vocabulary.tokenize else ""
    return (
        f"Subwords are of text {', '.join(done)} (sacremoses). translate.py sees to that; anything"
        f" else has to do it before{after}."
    )
