"""Writes the conda environment, nmt.yaml, from requirements.txt and cuda.txt: `python
envs/make_conda.py`.

Conda brings Python and pip; pip brings the packages. So both ways of installing give the same
builds of the same versions, where conda-forge may have another build or lag behind.
"""

from pin import ENVS, requirements

HEAD = """\
# conda env create --file envs/nmt.yaml && conda activate nmt
# Made from requirements.txt and cuda.txt by make_conda.py: edit requirements.in instead.
name: nmt
channels:
  - conda-forge
  - nodefaults
variables:
  SNAKEMAKE_PROFILE: workflow/profiles/default
dependencies:
  - python =3.11
  - pip
  - pip:
"""


def conda() -> str:
    """The text of nmt.yaml."""
    pins = [str(pin) for pin in requirements(ENVS / "requirements.txt")]
    # Not as constraints, which are a file of their own: Snakemake copies this one elsewhere to
    # install from it.
    pins += [f"{pin}; sys_platform == 'linux'" for pin in requirements(ENVS / "cuda.txt")]
    return HEAD + "".join(f'      - "{pin}"\n' for pin in pins)


if __name__ == "__main__":
    (ENVS / "nmt.yaml").write_text(conda(), encoding="utf-8")
