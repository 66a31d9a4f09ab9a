from pathlib import Path

import pytest

from paredown.contracts import (
    Batching,
    Engine,
    Environment,
    Needs,
    Option,
    PlanFacts,
    ScoringLevel,
    ServedBy,
    Technique,
)
from paredown.errors import UnknownNameError
from paredown.plan import ladder
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import LeftOut, Prediction, Proposal, Rung, Step
from paredown.records.machine import Accelerator, Machine
from paredown.registry import PlugInError


def facts(memory_bytes=24 * 10**9, accelerators=(), parameters=135_000_000, chain=()):
    model = ModelFacts(
        "demo",
        Path("demo"),
        "llama",
        "bfloat16",
        parameters,
        100_000_000,
        30,
        576,
        9,
        3,
        64,
        49152,
        2048,
        True,
        100,
        (),
        True,
    )
    machine = Machine("", "Linux", "Zen", 2, 2, (), memory_bytes, tuple(accelerators), {})
    return PlanFacts(model, machine, chain)


def technique(name, rung=Rung.EIGHT_BIT, produces="onnx", proposals=None, consumes=("hf",), **fields):
    offers = proposals or (lambda _: [Proposal(name, rung, (Step(name),), produces, "smaller weights")])
    return Technique(
        name, "", "", rung, consumes, produces, offers, fields.pop("apply", lambda context: None), **fields
    )


def engine(name, opens, **fields):
    return Engine(
        name,
        "",
        tuple(opens),
        ServedBy.HOST,
        Batching.NONE,
        ScoringLevel.FULL,
        lambda artifact, machine, options: options,
        **fields,
    )


REFERENCE = engine("transformers", ("hf", "bitsandbytes"), baseline=True)
ONNX = engine("onnxruntime", ("onnx",))


def plan(techniques, engines=(REFERENCE, ONNX), given=None, installed=lambda needs: None, **options):
    return ladder.make(given or facts(), techniques, engines, installed, **options)


def reasons(found):
    return {left.name: left.reason for left in found.left_out}


def test_candidates_come_in_ladder_order_and_fastest_first_within_a_rung():
    quick = Proposal(
        "quick", Rung.EIGHT_BIT, (Step("quick"),), "onnx", "", prediction=Prediction(decode_speed_ratio=3.0)
    )
    found = plan(
        [
            technique("four", Rung.FOUR_BIT),
            technique("eight"),
            technique("wide", Rung.LOSSLESS),
            technique("quick", proposals=lambda _: [quick]),
        ]
    )
    assert [c.name for c in found.candidates] == ["wide", "quick", "eight", "four"]
    assert found.left_out == ()


def test_a_proposal_is_joined_with_the_engine_that_opens_its_format():
    (candidate,) = plan([technique("eight")]).candidates
    assert (candidate.name, candidate.engine, candidate.format) == ("eight", "onnxruntime", "onnx")


def test_with_two_engines_for_a_format_the_name_says_which():
    other = engine("other", ("onnx",))
    found = plan([technique("eight")], (REFERENCE, ONNX, other))
    assert [c.name for c in found.candidates] == ["eight@onnxruntime", "eight@other"]
    missing = plan([technique("eight")], (REFERENCE, ONNX, other), without_engines=["other"])
    assert [c.name for c in missing.candidates] == ["eight@onnxruntime"]


def test_another_engine_that_opens_the_source_is_a_lossless_candidate_without_steps():
    direct = engine("direct", ("hf",))
    found = plan([technique("eight")], (REFERENCE, ONNX, direct))
    assert (found.candidates[0].name, found.candidates[0].rung, found.candidates[0].steps) == (
        "direct",
        Rung.LOSSLESS,
        (),
    )


def test_settings_of_an_engine_go_only_to_engines_that_know_them():
    tuned = Proposal("kv_int8", Rung.EIGHT_BIT, (), "hf", "", engine_options={"kv_dtype": "int8"})
    setter = technique("kv_int8", proposals=lambda _: [tuned], apply=None)
    knows = engine("direct", ("hf",), options=(Option("kv_dtype", "bf16", ""),))
    candidate = next(c for c in plan([setter], (REFERENCE, knows)).candidates if c.name == "kv_int8")
    assert (candidate.engine, candidate.engine_options, candidate.steps) == ("direct", {"kv_dtype": "int8"}, ())
    assert "with the options kv_dtype" in reasons(plan([setter]))["kv_int8"]


def test_lossy_candidates_name_the_same_engines_lossless_one():
    nf4 = technique("nf4", Rung.FOUR_BIT, "bitsandbytes")
    found = plan([technique("eight"), technique("wide", Rung.LOSSLESS), nf4])
    assert {c.name: c.same_engine_wide for c in found.candidates} == {"wide": "", "eight": "wide", "nf4": "baseline"}
    assert plan([technique("eight")]).candidates[0].same_engine_wide == ""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"needs": Needs(min_compute_capability=8.9)}, "It needs compute capability 8.9; this is a CPU."),
        ({"needs": Needs(devices=("cuda",))}, "It runs on cuda; this run uses cpu."),
        ({"needs": Needs(accelerators=2)}, "It needs 2 accelerators; here: none."),
        ({"needs": Needs(memory_factor=200.0)}, "It needs about 54.0 GB of memory (200 × the checkpoint)"),
        ({"consumes": ("gguf",)}, "It starts from gguf; the model is in the format 'hf'."),
        ({"produces": "exotic"}, "No engine opens the format 'exotic'."),
    ],
)
def test_what_cannot_work_here_is_left_out_with_its_reason(fields, reason):
    found = plan([technique("eight", **fields)])
    assert found.candidates == ()
    assert reasons(found)["eight"].startswith(reason)


def test_a_gpu_of_too_old_a_kind_is_named():
    given = facts(accelerators=[Accelerator("T4", 16 * 10**9, "550", "7.5")])
    found = plan([technique("fp8", needs=Needs(min_compute_capability=8.9))], given=given, device="cuda")
    assert reasons(found)["fp8"] == "It needs compute capability 8.9; the best here has 7.5."


def test_a_missing_package_is_told_with_its_install_line():
    found = plan(
        [technique("eight", needs=Needs(packages=("onnx",)))],
        installed=lambda needs: "Run: pip install 'paredown[onnx]'" if "onnx" in needs.packages else None,
    )
    assert reasons(found) == {"eight": "Run: pip install 'paredown[onnx]'"}


def test_an_engine_whose_package_is_missing_leaves_its_candidates_out():
    missing = engine("onnxruntime", ("onnx",), needs=Needs(packages=("ort",)))
    found = plan(
        [technique("eight")], (REFERENCE, missing), installed=lambda needs: "no ort" if needs.packages else None
    )
    assert reasons(found) == {"eight": "Its engine onnxruntime cannot be used: no ort"}


def test_packages_of_an_environment_of_its_own_need_not_be_installed_here():
    own = technique("eight", needs=Needs(packages=("optimum",)), environment=Environment("openvino", ()))
    installed = lambda needs: "missing" if needs.packages else None  # noqa: E731
    assert [c.name for c in plan([own], installed=installed).candidates] == ["eight"]
    found = plan([own], installed=installed, environment=lambda e: "no network")
    assert reasons(found) == {"eight": "Its environment openvino cannot be made: no network"}


def test_what_the_user_excludes_is_left_out_and_said():
    pair = [technique("eight"), technique("four", Rung.FOUR_BIT)]
    assert reasons(plan(pair, only=["eight"])) == {"four": "You asked for only eight."}
    assert reasons(plan(pair, without=["eight"])) == {"eight": "Left out as you asked."}
    assert set(reasons(plan(pair, only_engines=["transformers"]))) == {"eight", "four"}


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'eight'"):
        plan([technique("eight")], only=["eigth"])


def test_a_technique_says_itself_what_it_leaves_out():
    said = LeftOut("eight", Rung.EIGHT_BIT, "group size does not divide any layer")
    assert plan([technique("eight", proposals=lambda _: [said])]).left_out == (said,)


def test_two_plug_ins_may_not_propose_the_same_name():
    twin = lambda _: [Proposal("same", Rung.EIGHT_BIT, (), "onnx", "")]  # noqa: E731
    with pytest.raises(PlugInError, match="'same'"):
        plan([technique("one", proposals=twin), technique("two", proposals=twin)])
