"""A browser that the tests of a file share."""

import pytest

from tests.support.browser import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started
