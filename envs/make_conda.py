"""Write nmt.yaml, the conda environment, from requirements.txt and cuda.txt.

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
    """Return the text of nmt.yaml."""
    pins = [str(requirement) for requirement in requirements(ENVS / "requirements.txt")]
    # Listed, not given to pip as a constraint file: Snakemake copies nmt.yaml elsewhere to install
    # from it.
    for requirement in requirements(ENVS / "cuda.txt"):
        pins.append(f"{requirement}; sys_platform == 'linux'")
    return HEAD + "".join(f'      - "{pin}"\n' for pin in pins)


if __name__ == "__main__":
    (ENVS / "nmt.yaml").write_text(conda(), encoding="utf-8")
