"""Golden sets: loaded from any source, with a digest of their content, and split without leaks."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paredown.errors import UserError
from paredown.evaluate import golden
from paredown.evaluate.golden import GoldenSet
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message


def write(folder: Path, *rows: dict[str, object], name: str = "my.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def item(name: str, slice_name: str = "s", cluster: str = "") -> GoldenItem:
    return GoldenItem(name, slice_name, "exact_match", (Message("user", name),), "x", cluster=cluster)


def make(*items: GoldenItem) -> GoldenSet:
    return GoldenSet(items, "", ())


def test_sources_of_several_kinds_are_put_together(tmp_path: Path) -> None:
    table = tmp_path / "more.csv"
    table.write_text("prompt,answer,slice\nb,y,other\n")
    found = golden.load([write(tmp_path, {"prompt": "a", "answer": "x"}), str(table)])
    assert [one.messages[0].content for one in found.items] == ["a", "b"]
    assert found.slices == ("default", "other")


def test_the_digest_is_of_the_content_and_not_of_order_or_place(tmp_path: Path) -> None:
    a, b = {"prompt": "a", "answer": "x"}, {"prompt": "b", "answer": "x"}
    first = golden.load([write(tmp_path, a, b, name="one.jsonl")])
    assert golden.load([write(tmp_path, b, a, name="two.jsonl")]).digest == first.digest
    assert golden.load([write(tmp_path, a, {**b, "answer": "y"}, name="three.jsonl")]).digest != first.digest


def test_the_same_id_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    source = write(tmp_path, *[{"id": "q", "prompt": str(number), "answer": "x"} for number in range(2)])
    with pytest.raises(UserError, match=r"my.jsonl:2: the id 'q' is already that of .*my.jsonl:1"):
        golden.load([source])


def test_an_item_that_repeats_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"my.jsonl:2: asks the same, with the same answer, as .*my.jsonl:1; leave one"):
        golden.load([write(tmp_path, {"prompt": "a", "answer": "x"}, {"prompt": "a", "answer": "x"})])


def test_an_empty_source_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'holds no golden item; expected lines such as {"prompt"'):
        golden.load([write(tmp_path)])


def test_no_source_is_refused_with_what_to_type() -> None:
    with pytest.raises(UserError, match="--golden builtin"):
        golden.load([])


def test_a_source_that_is_nowhere_names_the_nearest_known_set() -> None:
    with pytest.raises(UserError, match="Did you mean 'builtin'"):
        golden.load(["bultin"])


def test_a_file_of_an_unknown_kind_is_refused_with_the_known_kinds(tmp_path: Path) -> None:
    (tmp_path / "my.parquet").write_bytes(b"")
    with pytest.raises(UserError, match=r"No loader reads .*\.jsonl"):
        golden.load([str(tmp_path / "my.parquet")])


# ── split ────────────────────────────────────────────────────────────────────────────────────────────────────────

ITEMS = tuple(item(f"{name}{number}", name) for name in ("a", "b", "c") for number in range(50))


def test_every_slice_gives_its_share_to_screening() -> None:
    screening, confirmation = golden.split(make(*ITEMS), 1, 0.4)
    for name in ("a", "b", "c"):
        assert sum(one.slice == name for one in screening.items) == 20
        assert sum(one.slice == name for one in confirmation.items) == 30


def test_the_split_follows_from_seed_and_ids_and_not_from_the_order() -> None:
    shuffled = list(ITEMS)
    random.Random(3).shuffle(shuffled)
    first, second = golden.split(make(*ITEMS), 1), golden.split(make(*shuffled), 1)
    assert {one.id for one in first.screening.items} == {one.id for one in second.screening.items}
    assert first.screening.digest == second.screening.digest
    assert first.screening.digest != golden.split(make(*ITEMS), 2).screening.digest


@settings(max_examples=50, deadline=None)
@given(
    clusters=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
    fraction=st.floats(0.05, 0.95),
)
def test_no_cluster_is_on_both_sides_and_no_item_is_lost(clusters: list[int], seed: int, fraction: float) -> None:
    items = tuple(item(f"i{n}", f"s{n % 2}", f"c{cluster}" if cluster else "") for n, cluster in enumerate(clusters))
    screening, confirmation = golden.split(make(*items), seed, fraction)
    ours, theirs = {one.id for one in screening.items}, {one.id for one in confirmation.items}
    assert not ours & theirs
    assert ours | theirs == {one.id for one in items}
    shared = {one.cluster for one in screening.items} & {one.cluster for one in confirmation.items}
    assert shared <= {""}


def test_what_was_screened_before_never_confirms_after_items_were_added() -> None:
    before = golden.split(make(*ITEMS), 1)
    screened = frozenset(one.id for one in before.screening.items)
    more = tuple(item(f"new{number}", "a") for number in range(30))
    after = golden.split(make(*ITEMS, *more), 1, screened=screened)
    assert screened <= {one.id for one in after.screening.items}
    assert sum(one.slice == "a" for one in after.screening.items) == 32


def test_what_was_screened_before_stays_even_beyond_a_smaller_share() -> None:
    screened = frozenset(one.id for one in golden.split(make(*ITEMS), 1, 0.4).screening.items)
    after = golden.split(make(*ITEMS), 1, 0.1, screened=screened)
    assert screened == {one.id for one in after.screening.items}


def test_a_fraction_that_leaves_one_side_empty_is_refused() -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        golden.split(make(*ITEMS), 1, 1.0)
