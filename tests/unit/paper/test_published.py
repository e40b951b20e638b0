"""config/published.yaml, and what its entries may say."""

from collections import Counter, defaultdict

import pytest

from nmt.configuration import load_catalog


@pytest.fixture(scope="module")
def catalog(root):
    return load_catalog(root / "config")


def test_splits_exist_and_no_number_is_published_twice(catalog):
    for entry in catalog.published:
        splits = catalog.corpus(entry.corpus).split_names
        assert entry.split is None or entry.split in splits, entry
    keys = [
        (entry.corpus, entry.split, entry.metric, entry.experiment or entry.system)
        for entry in catalog.published
    ]
    assert [key for key, count in Counter(keys).items() if count > 1] == []


# The numbers of AIAYN's Tables 2 and 3 by corpus and metric, and those of other papers, in the
# order of config/published.yaml
PAPER = {
    ("wmt14-en-de", "compound_split_bleu"): [24.6, 26.30, 27.3, 28.4, 23.75, 25.16, 26.36, 26.03],
    ("wmt14-en-fr", "tokenized_bleu"): [
        *(39.2, 39.92, 40.4, 41.16, 38.1, 41.8, 40.46, 41.29, 40.56),
    ],
    ("wmt14-en-de", "flops"): [2.3e19, 1.8e20, 3.3e18, 2.3e19, 9.6e18, 7.7e19, 2.0e19],
    ("wmt14-en-fr", "flops"): [
        *(1.0e20, 1.4e20, 8.0e20, 1.1e21, 3.3e18, 2.3e19, 1.5e20, 1.2e21, 1.2e20),
    ],
    ("wmt14-en-de", "perplexity"): [
        *(4.92, 5.29, 5.00, 4.91, 5.01, 5.16, 5.01, 6.11, 5.19, 4.88, 5.75, 4.66, 5.12, 4.75),
        *(5.77, 4.95, 4.67, 5.47, 4.92, 4.33),
    ],
    ("wmt14-en-de", "tokenized_bleu"): [
        *(25.8, 24.9, 25.5, 25.8, 25.4, 25.1, 25.4, 23.7, 25.3, 25.5, 24.5, 26.0, 25.4, 26.2),
        *(24.6, 25.5, 25.3, 25.7, 25.7, 26.4),
    ],
    ("wmt14-en-de", "parameters"): [65, 58, 60, 36, 50, 80, 28, 168, 53, 90, 213],
}
OTHERS = {
    "Wu et al. 2016": [24.61, 38.95],
    "Shazeer et al. 2017": [8700, 278],
    "Bahdanau et al. 2015": [26.75, 17.82],
    "Sutskever et al. 2014": [30.59, 34.81, 384],
    "Luong et al. 2015": [14.0, 16.8, 18.1, 19.0],
    "Translation using deep neural networks": [
        *(60, 76.28, 76.28, 158),
        *(5.78e18, 1.57e18, 2e18, 2e18),
        *(30, 38.6, 37.3, 38.7),
        *(6.1e9, 4.37e9, 159, 30, 10e12, 14.5e12),
    ],
    "Shaw et al. 2018": [26.8],
    "Su et al. 2021": [27.5],
    "Ott et al. 2018": [29.3, 28.6, 43.2, 41.4],
    "NVIDIA DeepLearningExamples": [27.76],
    "Wu et al. 2021": [41.02],
}


def test_numbers_are_those_that_papers_print(catalog):
    printed = defaultdict(list)
    for entry in catalog.published:
        paper = entry.source.partition(" (")[0].partition(",")[0]
        key = (entry.corpus, entry.metric) if paper == "Vaswani et al. 2017" else paper
        printed[key].append(entry.value)
    assert printed == PAPER | OTHERS
