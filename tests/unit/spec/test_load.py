import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.spec import load
from paredown.spec.schema import DEFAULT_TARGETS, RunSpec, seconds


def write(tmp_path, text):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return path


def test_yaml_and_flags_give_the_same_object(tmp_path):
    path = write(tmp_path, "model: demo\nbudget: 10m\ntargets: [ttft_p95<=200ms]\ntechniques: {only: onnx_int8}\n")
    flags = {"model": "demo", "budget": "10m", "targets": ["ttft_p95<=200ms"], "techniques": {"only": ["onnx_int8"]}}
    assert load.read(path, {}) == load.read(None, flags)


def test_flags_win_over_the_file_key_by_key(tmp_path):
    path = write(tmp_path, "model: demo\nseed: 1\nengines: {without: [fake]}\n")
    spec = load.read(path, {"seed": 7, "engines": {"only": ["openvino_genai"]}, "budget": None})
    assert (spec.seed, spec.engines.only, spec.engines.without) == (7, ("openvino_genai",), ("fake",))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("modle: demo", "Unknown setting 'modle'. Did you mean 'model'?"),
        ("model: demo\nprice_hour: 3", "Did you mean 'price_per_hour'?"),
        ("model: demo\ntechniques: {onyl: [a]}", "Unknown setting of techniques 'onyl'. Did you mean 'only'?"),
        ("model: demo\nfidelity: {max_kl: 1}", "Did you mean 'max_mean_kl'?"),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest_known_one(tmp_path, text, answer):
    with pytest.raises(UnknownNameError) as caught:
        load.read(write(tmp_path, text), {})
    assert answer in str(caught.value)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("seed: 1", "'model' is missing"),
        ("model: demo\nseed: -1", "'seed' is -1, but input should be greater than or equal to 0"),
        ("model: demo\nseed: many", "'seed' is 'many'"),
        ("model: demo\nbudget: soon", "write for example 90s, 10m or 1h30m"),
        ("model: demo\nbudget: 0", "'budget' is 0"),
        ("model: demo\ngates: {safety: 0}", "must lie above 0"),
        ("model: demo\nprice_per_hour: .nan", "'price_per_hour' is nan"),
        ("model: demo\ntargets: []", "'targets' is []"),
        ("model: demo\nscreening_fraction: 1", "'screening_fraction' is 1"),
        ("- demo", "must hold settings"),
        ("model: [", "is not YAML"),
        ("", "must hold settings"),
    ],
)
def test_a_wrong_spec_is_one_sentence_that_names_the_setting(tmp_path, text, answer):
    with pytest.raises(UserError) as caught:
        load.read(write(tmp_path, text), {})
    assert answer in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_spec_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.yaml.*cannot be read"):
        load.read(tmp_path / "none.yaml", {})


def test_without_targets_it_asks_for_smaller_and_faster_and_says_so():
    spec = RunSpec(model="demo")
    assert spec.targets == DEFAULT_TARGETS
    assert spec.targets_assumed
    assert not RunSpec(model="demo", targets=DEFAULT_TARGETS).targets_assumed


@pytest.mark.parametrize(("text", "expected"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2 h", 7200), ("45", 45)])
def test_durations_are_read_in_seconds(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"gates": {"safety": 3.0}}, {"targets": ("ttft<=1s",)}, {"screening_fraction": 0.5}]
)
def test_the_digest_changes_with_what_decides(change):
    assert RunSpec(model="demo", **change).digest() != RunSpec(model="demo").digest()


def test_the_digest_ignores_paths_and_time_limits():
    other = load.from_mapping({"model": "demo", "output": "a", "cache": "b", "budget": "5m", "exhaust": True}, "test")
    assert other.digest() == RunSpec(model="demo").digest()


def test_a_command_line_names_only_what_was_given(tmp_path):
    path = write(tmp_path, "model: demo\ntargets: [ttft_p95<=200ms]\nseed: 4\n")
    flags = {"targets": (), "traffic": ("long",), "seed": None, "techniques": ("a", "b"), "cache_dir": tmp_path}
    spec = load.from_flags(None, path, flags)
    assert (spec.model, spec.targets, spec.traffic, spec.seed) == ("demo", ("ttft_p95<=200ms",), ("long",), 4)
    assert (spec.techniques.only, spec.cache) == (("a", "b"), tmp_path)


def test_a_command_line_leaves_out_techniques_and_engines_by_name(monkeypatch):
    known = {"techniques": ("onnx_int8",), "engines": ("fake",)}
    monkeypatch.setattr("paredown.registry.names", known.__getitem__)
    spec = load.from_flags("demo", None, {"without": ("fake", "onnx_int8")})
    assert (spec.engines.without, spec.techniques.without) == (("fake",), ("onnx_int8",))
    with pytest.raises(UnknownNameError, match="Did you mean 'onnx_int8'"):
        load.from_flags("demo", None, {"without": ("onnx_int4",)})


def test_a_command_line_without_a_model_says_what_to_type():
    with pytest.raises(UserError, match="paredown run demo"):
        load.from_flags(None, None, {})
