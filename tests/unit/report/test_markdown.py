import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.report import markdown, markdown_text
from paredown.report.example import view as example_view
from paredown.report.view import AnswerView, WorstAnswer
from paredown.testing.example_run import SCENARIOS

markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py comes with rich")


def html_of(text):
    """GitHub's rules as far as they matter here: tables on, raw HTML kept (so that an unescaped tag shows up)."""
    return markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


@pytest.fixture(scope="module", params=SCENARIOS)
def text(request):
    return markdown.render(example_view(SCENARIOS[request.param]()))


def test_the_document_has_every_part(text):
    headings = re.findall(r"^## (\w+)", text, re.MULTILINE)
    assert headings == ["Targets", "Speed", "The", "Slices", "Why", "Figures", "Where", "Answers", "Skipped", "The"]


def test_every_row_of_a_table_has_as_many_cells_as_its_head(text):
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(counts) == 1, table


def test_tables_are_tables_to_a_reader_of_markdown(text):
    assert html_of(text).count("<table>") == len(re.findall(r"^\|---", text, re.MULTILINE))


@given(st.text(max_size=60))
def test_escaped_text_renders_as_itself(content):
    from html import unescape

    wanted = " ".join(markdown.units.visible(content).split())
    rendered = html_of(f"x {markdown_text.escape(content)}")
    assert not re.search(r"<(?!/?p>)", rendered)
    assert unescape(re.sub("</?p>", "", rendered)).strip() == f"x {wanted}".strip()


@pytest.mark.parametrize(
    "content", ["# title", "- item", "1. item", "+ item", "> quote", "=====", "*bold*", "<b>", "[a](b)", "a|b"]
)
def test_text_at_the_start_of_a_line_is_no_block(content):
    assert html_of(markdown_text.escape(content)).startswith("<p>")
    assert "<b>" not in html_of(markdown_text.escape(content))


@given(st.text("`a| <\n", max_size=20))
def test_a_code_span_holds_its_text_whole(content):
    rendered = html_of(f"| a |\n|---|\n| {markdown_text.code(content)} |")
    assert rendered.count("<td>") == 1
    assert rendered.count("<code>") == 1


def test_a_fence_is_not_closed_by_its_content():
    hostile = "```\n<script>alert(1)</script>\n````"
    assert html_of(markdown_text.fence(hostile)).count("<pre>") == 1
    assert "<script>" not in html_of(markdown_text.fence(hostile))


def test_a_hostile_answer_stays_text():
    view = example_view(SCENARIOS["ship"]())
    script = "<script>alert(1)</script>"
    item = GoldenItem(script, script, "exact", (Message("user", f"```\n{script}"),), script)
    worst = (WorstAnswer(script, item, AnswerView(script), AnswerView(f"```{script}")),)
    rendered = html_of(markdown.render(replace(view, worst=worst)))
    assert "<script>" not in rendered
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in rendered
