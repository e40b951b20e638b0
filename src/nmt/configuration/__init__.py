"""The configuration: frozen, validated classes, read from the catalog (a folder of YAML files).

corpora.yaml says what the data is, experiments/*.yaml declare every experiment once,
published.yaml holds the numbers printed in papers, and a reproduction (config/demo.yaml, say)
chooses among them. Unknown keys are errors that name the file, the entry and the nearest known key.
"""

from nmt.configuration.catalog import KINDS, Catalog, load_catalog
from nmt.configuration.corpora import ARCHIVE, Archive, Cleaning, Corpus, Generated, Part, located
from nmt.configuration.experiments import (
    BYTES,
    MOST_ALPHA,
    Decoding,
    Ensemble,
    Experiment,
    Training,
    Vocabulary,
)
from nmt.configuration.models import (
    FAMILIES,
    GNMT,
    LEARNED_POSITIONS,
    ByteNet,
    ConvS2S,
    DecoderOnly,
    Model,
    RNNSearch,
    SelfAttention,
    Seq2Seq,
    Transformer,
)
from nmt.configuration.published import Claim, Published
from nmt.configuration.reproductions import (
    Reproduction,
    Table,
    load_reproduction,
    read_reproduction,
)
from nmt.configuration.strict import MOST_SEED, Strict, lookup, read_list, read_yaml, validated
