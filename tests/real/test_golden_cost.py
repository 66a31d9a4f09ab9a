"""What one pass over the built-in golden set costs, counted with the tokenizer and template of the built-in model."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.evaluate import golden

pytestmark = pytest.mark.real


def test_one_pass_costs_at_most_forty_thousand_tokens_with_shared_prefixes_once(demo: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(demo, local_files_only=True, trust_remote_code=False)
    nodes: set[int] = set()
    for item in golden.load(["builtin"]).items:
        messages = [{"role": one.role, "content": one.content} for one in item.messages]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        for choice in item.choices or ("",):
            state = 0
            for token in prompt_ids + tokenizer(choice, add_special_tokens=False)["input_ids"]:
                state = hash((state, token))
                nodes.add(state)
    assert 25_000 <= len(nodes) <= 40_000


def test_long_documents_have_the_lengths_of_their_tags(demo: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(demo, local_files_only=True, trust_remote_code=False)
    wanted = {"512": 512, "1k": 1024, "2k": 2048}
    documents = {
        item.cluster: (wanted[item.tags["length"]], item.messages[-1].content)
        for item in golden.load(["builtin:long_context"]).items
    }
    for name, (length, text) in documents.items():
        count = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        assert 0.9 * length <= count <= 1.1 * length, (name, count)
