"""Score requests as a tree of shared prefixes, and the tree as few passes through a model.

A pass is a row of tokens after a prefix whose keys and values are held. A long branch is computed once and stays held
for what hangs below it; short branches are packed side by side into one row, in which each token sees its ancestors
only (tree attention, as SpecInfer verifies speculated branches, arXiv 2305.09781). Nothing is padded, and no token of
the tree is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from paredown.contracts import ScoreRequest
from paredown.hosts.logit_rows import common_prefix

ROW_TOKENS = 384
"""Longer rows spend more on attention between branches that do not see each other (1.14 ms a token at 256, 1.31 at
512, 1.52 at 1024 on one core, against 1.11 plain), shorter ones read more weights for each token."""


@dataclass(frozen=True)
class Want:
    """Logits after token `offset` of a branch are wanted: row `row` of the result of request `request`."""

    offset: int
    request: int
    row: int


@dataclass
class Branch:
    """A run of tokens without a fork. `depth`: position of its first token; `size`: tokens of it and all below."""

    tokens: tuple[int, ...]
    depth: int
    parent: Branch | None = None
    children: list[Branch] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    size: int = 0

    def path(self) -> tuple[int, ...]:
        """All tokens from the root to the end of this branch."""
        before = self.parent.path() if self.parent is not None else ()
        return before + self.tokens


@dataclass(frozen=True)
class Segment:
    """A branch in a row. `parent`: index of the segment it follows, −1 when it follows the held prefix."""

    branch: Branch
    parent: int


@dataclass(frozen=True)
class Pass:
    """One row of segments after `prefix`. With `stays` it is one branch, which is held for what hangs below it."""

    prefix: tuple[int, ...]
    segments: tuple[Segment, ...]
    stays: bool

    @property
    def size(self) -> int:
        return sum(len(segment.branch.tokens) for segment in self.segments)


def build(requests: Sequence[ScoreRequest]) -> Branch:
    """The tree of what the model has to read: every token but the last of each request, which is only predicted."""
    root = Branch((), 0)
    rightmost = root
    before: tuple[int, ...] = ()
    for index in sorted(range(len(requests)), key=lambda place: requests[place].token_ids):
        request = requests[index]
        tokens = request.token_ids[:-1]
        shared = common_prefix(tokens, before)
        at = _fork(rightmost, shared)
        if shared < len(tokens):
            leaf = Branch(tokens[shared:], shared, at)
            at.children.append(leaf)
            at = leaf
        rightmost, before = at, tokens
        _want(at, request, index)
    _measure(root)
    return root


def _fork(branch: Branch, depth: int) -> Branch:
    """The branch on the way to `branch` that ends at `depth`; one is split there when none does."""
    while branch.depth >= depth and branch.parent is not None:
        branch = branch.parent
    offset = depth - branch.depth
    if offset == len(branch.tokens):
        return branch
    # The lower part keeps its identity, the upper one is new.
    assert branch.parent is not None
    upper = Branch(branch.tokens[:offset], branch.depth, branch.parent, [branch])
    upper.wants = [want for want in branch.wants if want.offset < offset]
    branch.wants = [Want(w.offset - offset, w.request, w.row) for w in branch.wants if w.offset >= offset]
    siblings = branch.parent.children
    siblings[siblings.index(branch)] = upper
    branch.tokens, branch.depth, branch.parent = branch.tokens[offset:], depth, upper
    return upper


def _want(leaf: Branch, request: ScoreRequest, index: int) -> None:
    first, branch = request.start - 1, leaf
    end = len(request.token_ids) - 1
    while True:
        for position in range(max(first, branch.depth), end):
            branch.wants.append(Want(position - branch.depth, index, position - first))
        end = branch.depth
        if branch.parent is None or end <= first:
            return
        branch = branch.parent


def _measure(root: Branch) -> None:
    order = [root]
    for branch in order:
        order.extend(branch.children)
    for branch in reversed(order):
        branch.size = len(branch.tokens) + sum(child.size for child in branch.children)


def passes(root: Branch, held: Sequence[int] = (), row_tokens: int = ROW_TOKENS) -> Iterator[Pass]:
    """Passes in an order in which each finds its prefix held by the passes before it.

    held: tokens whose keys and values are still there from before: a branch that continues them comes first
    """
    yield from _below(root, tuple(held), row_tokens)


def _below(branch: Branch, held: tuple[int, ...], row_tokens: int) -> Iterator[Pass]:
    prefix = branch.path()
    long = [child for child in branch.children if child.size > row_tokens]
    short = [child for child in branch.children if child.size <= row_tokens]
    first = [child for child in long if held[len(prefix) : len(prefix) + 1] == child.tokens[:1]]
    for child in first:
        yield from _enter(child, prefix, held, row_tokens)
    yield from _rows(short, prefix, row_tokens)
    for child in long:
        if child not in first:
            yield from _enter(child, prefix, held, row_tokens)


def _enter(branch: Branch, prefix: tuple[int, ...], held: tuple[int, ...], row_tokens: int) -> Iterator[Pass]:
    yield Pass(prefix, (Segment(branch, -1),), stays=True)
    yield from _below(branch, held, row_tokens)


def _rows(branches: Sequence[Branch], prefix: tuple[int, ...], row_tokens: int) -> Iterator[Pass]:
    row: list[Segment] = []
    size = 0
    for branch in branches:
        if row and size + branch.size > row_tokens:
            yield Pass(prefix, tuple(row), stays=False)
            row, size = [], 0
        _flatten(branch, -1, row)
        size += branch.size
    if row:
        yield Pass(prefix, tuple(row), stays=False)


def _flatten(branch: Branch, parent: int, row: list[Segment]) -> None:
    """Depth first. Short branches fork a few times only, so that recursion is no danger."""
    stack = [(branch, parent)]
    while stack:
        one, above = stack.pop()
        row.append(Segment(one, above))
        here = len(row) - 1
        stack.extend((child, here) for child in reversed(one.children))
