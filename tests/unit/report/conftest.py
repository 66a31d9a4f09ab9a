from html.parser import HTMLParser

import pytest

from paredown.testing import example_measurement

VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements in order; fails on a tag that is closed wrongly."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="session")
def read_page():
    """From the text of a page to its elements."""
    return Page


@pytest.fixture(scope="session")
def everything():
    """A measurement that has every section."""
    return example_measurement.everything()


@pytest.fixture(scope="session")
def minimal():
    return example_measurement.minimal()
