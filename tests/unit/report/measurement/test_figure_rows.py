from paredown.records.figure import Figure
from paredown.report.measurement import figure_rows

VOID = "requests were sent late; by 12 ms"


def test_a_remark_of_several_figures_stands_once():
    shared = "5 of 300 requests failed"
    found = figure_rows.table(
        [Figure("ttft", "s", 0.1, 9, "p50", note=f"{shared}; own"), Figure("e2e", "s", 1.0, 9, "p50", note=shared)]
    )
    assert found.remarks == (shared,)
    assert [(row.remarks, row.marks) for row in found.rows] == [(("own",), (1,)), ((), (1,))]


def test_why_a_figure_is_void_is_not_repeated_in_its_row():
    found = figure_rows.table([Figure("ttft", "s", 0.1, 9, "p50", note=f"void: {VOID}; own")], VOID)
    assert found.rows[0].void
    assert found.rows[0].remarks == ("own",)


def test_figures_without_a_value_are_gathered_by_reason():
    figures = [
        Figure("energy", "J", None, missing="no counter"),
        Figure("ttft", "s", None, statistic="p50", missing="none succeeded"),
        Figure("power", "W", None, missing="no counter"),
        Figure("cost", "usd", None),
    ]
    found = figure_rows.table(figures)
    assert found.rows == ()
    assert [(a.why, a.names) for a in found.absent] == [
        ("no counter", ("energy", "power")),
        ("none succeeded", ("ttft_p50",)),
        ("no reason was recorded", ("cost",)),
    ]


def test_the_interval_is_printed_with_its_own_confidence():
    bounded = Figure("ttft", "s", 0.1, 60, "p95", 0.09, 0.12, 0.9)
    unbounded = Figure("ttft", "s", 0.1, 20, "p95", 0.09, None, 0.975)
    shown = [row.interval.replace("\u00a0", " ") for row in figure_rows.table([bounded, unbounded]).rows]
    assert shown == ["90 % [90, 120] ms", "97.5 % [90, ∞) ms"]


def test_each_definition_set_has_a_column_and_says_once_what_it_counts():
    ours = (Figure("ttft", "s", 0.2, 9, "p50"), Figure("ttft", "s", 0.3, 9, "p95"))
    others = {
        "vllm": (Figure("ttft", "s", 0.1, 9, "p50", note="from the send"), Figure("ttft", "s", 0.15, 9, "p95")),
        "aiperf": (Figure("ttft", "s", 0.12, 9, "p50", note="too"), Figure("ttft", "s", None, 0, "p99", missing="few")),
    }
    rows = figure_rows.definitions(ours, others)
    shown = [(r.name, r.ours, *r.others) for r in rows]
    assert [tuple(cell.replace("\u00a0", " ") for cell in row) for row in shown] == [
        ("ttft_p50", "200 ms", "100 ms", "120 ms"),
        ("ttft_p95", "300 ms", "150 ms", ""),
        ("ttft_p99", "", "", "not measured (few)"),
    ]
    assert rows[0].why == ("ours: c_1 − t_sched", "vllm: from the send", "aiperf: too")
    assert rows[1].why == rows[2].why == ()


def test_our_own_set_is_no_other_tool():
    assert list(figure_rows.other_sets({"ours": (), "vllm": ()})) == ["vllm"]
