"""docs/configuration.md is what the classes say."""

import importlib.util

from nmt.configuration import FAMILIES, Decoding, Training
from tests.support.files import ROOT


def test_the_page_is_that_of_the_classes():
    spec = importlib.util.spec_from_file_location("page", ROOT / "docs" / "configuration.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(), "run `python docs/configuration.py`"
    for cls in (Training, Decoding, *FAMILIES.values()):
        for key in cls.model_fields.keys() - {"family"}:
            assert f"- `{key}` (" in text
