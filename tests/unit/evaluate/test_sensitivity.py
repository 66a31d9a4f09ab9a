"""The texts on which layers are measured one by one."""

from __future__ import annotations

from paredown.evaluate import sensitivity
from paredown.records.golden import FidelityText


def test_texts_with_many_compared_positions_for_what_is_read_come_first() -> None:
    far = FidelityText("far", "long text", tuple(range(288)), 256)
    plain = [FidelityText(f"p{i}", "plain", tuple(range(65)), 1) for i in range(12)]
    chosen = sensitivity.choose([far, *plain], most_tokens=320)
    assert [len(text.token_ids) for text in chosen] == [33] * 9
    assert sensitivity.choose([far], most_tokens=100) == (sensitivity.SensitivityText(far.token_ids, 256),)
