"""Write the conda environments from requirements.txt and cuda.txt: nmt.yaml, and text.yaml.

text.yaml has what the rules need that come before a training: no torch, no CUDA.

Conda brings Python and pip; pip brings the packages. So both ways of installing give the same
builds of the same versions, where conda-forge may have another build or lag behind.
"""

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pin import ENVS, needed, requirements

# What scripts import that download, extract, normalize, learn subwords and binarize
TEXT = (
    "numpy",
    "protobuf",
    "pydantic",
    "pyyaml",
    "sacremoses",
    "sentencepiece",
    "tokenizers",
    "tqdm",
)

NMT_HEAD = """\
# conda env create --file envs/nmt.yaml && conda activate nmt
# Made from requirements.txt and cuda.txt by make_conda.py: edit requirements.in instead.
name: nmt
"""
TEXT_HEAD = """\
# For the rules before training, where Snakemake makes environments (--sdm conda).
# Made from requirements.txt by make_conda.py: edit requirements.in instead.
name: nmt-text
"""
CHANNELS = """\
channels:
  - conda-forge
  - nodefaults
"""
PROFILE = """\
variables:
  PYTHONPATH: src
  SNAKEMAKE_PROFILE: workflow/profiles/default
"""
PACKAGES = """\
dependencies:
  - python =3.11
  - pip
  - pip:
"""


def nmt() -> str:
    """Return the text of nmt.yaml."""
    pins = [str(requirement) for requirement in requirements(ENVS / "requirements.txt")]
    # Listed, not given to pip as a constraint file: Snakemake copies nmt.yaml elsewhere to install
    # from it.
    for requirement in requirements(ENVS / "cuda.txt"):
        pins.append(f"{requirement}; sys_platform == 'linux'")
    return NMT_HEAD + CHANNELS + PROFILE + PACKAGES + listed(pins)


def text() -> str:
    """Return the text of text.yaml."""
    names = needed([Requirement(name) for name in TEXT])
    pins = [
        str(requirement)
        for requirement in requirements(ENVS / "requirements.txt")
        if canonicalize_name(requirement.name) in names
    ]
    return TEXT_HEAD + CHANNELS + PACKAGES + listed(pins)


def listed(pins: list[str]) -> str:
    """Return pins as items of YAML."""
    return "".join(f'      - "{pin}"\n' for pin in pins)


if __name__ == "__main__":
    (ENVS / "nmt.yaml").write_text(nmt(), encoding="utf-8")
    (ENVS / "text.yaml").write_text(text(), encoding="utf-8")
