"""`paredown inspect`: what is this checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from paredown.cli.output import emit_json, table

if TYPE_CHECKING:
    from paredown.models.inspection import Inspection


@click.command("inspect")
@click.argument("model")
@click.option("--sparsity", is_flag=True, help="Read every weight and count the zeros (about 1 s per GB).")
@click.option("--allow-pickle", is_flag=True, help="Open pickle weights, tensors only.")
@click.option("--trust-remote-code", is_flag=True, help="Accept a checkpoint that brings code of its own.")
@click.option("--cache", type=click.Path(path_type=Path), help="Where models are kept.  [default: the user's cache]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(
    model: str, sparsity: bool, allow_pickle: bool, trust_remote_code: bool, cache: Path | None, as_json: bool
) -> None:
    """Tell what MODEL is from its own files: real bits per parameter, data types, tied head, template.

    MODEL is `demo`, a directory (a source model, or an artifact that paredown made), or a hub id (owner/name).
    """
    from paredown.models import inspection, source

    path = Path(model).expanduser()
    if not path.is_dir():
        from paredown.spec.schema import default_cache

        path = source.resolve(
            model,
            cache=cache or default_cache(),
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
            on_progress=lambda _, what: click.echo(what, err=True),
        )
    found = inspection.inspect(path, count_zeros=sparsity)
    if as_json:
        emit_json(_document(found))
    else:
        _show(found)


def _document(found: Inspection) -> dict[str, object]:
    from paredown.records.codec import to_plain

    plain: dict[str, object] = dict(to_plain(found))
    return {"bits_per_parameter": found.bits_per_parameter, **plain}


def _show(found: Inspection) -> None:
    click.echo(found.path)
    table(["", ""], _rows(found))
    click.echo()
    table(
        ["kind", "stored as", "tensors", "weights", "size", "bits per weight"],
        [
            (g.kind, g.dtype, f"{g.count:,}", f"{g.elements:,}", f"{g.size_bytes / 1e6:,.1f} MB", f"{g.bits:.2f}")
            for g in found.groups
        ],
    )
    for line in (*found.cautions, *found.missing):
        click.echo(f"! {line}")


def _rows(found: Inspection) -> list[tuple[str, str]]:
    facts = found.facts
    rows = [("format", found.format)]
    if found.quantization:
        rows.append(("quantized by", found.quantization))
    if facts:
        heads = f"{facts.heads} heads of {facts.head_dim}, {facts.kv_heads} for keys and values"
        rows += [
            (
                "architecture",
                f"{facts.architecture}, {facts.layers} layers, hidden size {facts.hidden_size:,}, {heads}",
            ),
            (
                "vocabulary",
                f"{facts.vocabulary:,} tokens, head {'tied to the embedding' if facts.tied_head else 'untied'}",
            ),
            ("context length", f"{facts.context_length:,} tokens" if facts.context_length else "not said"),
            ("KV cache", f"{facts.kv_bytes_per_token:,} bytes per token in {facts.dtype}"),
        ]
    rows.append(("parameters", f"{found.parameters:,}" if facts else f"{found.parameters:,} stored"))
    if facts:
        rows.append(("read per token", f"{facts.active_parameters:,} matrix weights"))
    rows += [
        ("weights", f"{found.weight_bytes / 1e6:,.1f} MB of {found.disk_bytes / 1e6:,.1f} MB on disk"),
        ("bits per parameter", f"{found.bits_per_parameter:.2f}"),
        ("tokenizer", "yes" if found.has_tokenizer else "NO"),
        ("chat template", "yes" if found.has_chat_template else "NO"),
    ]
    if found.zero_share is not None:
        rows.append(("zeros", f"{found.zero_share:.2%} of the weights"))
    return rows
