"""What benchmarks/run reads is there and can be measured."""
import json
import sys
import tomllib

import pytest


@pytest.fixture
def cases(tree):
    return tomllib.loads((tree / "benchmarks" / "cases.toml").read_text())


@pytest.fixture
def judge(tree, monkeypatch):
    monkeypatch.syspath_prepend(str(tree / "benchmarks"))
    import judge
    yield judge
    for name in ("judge", "chart"):
        sys.modules.pop(name, None)


def test_every_case_names_an_op_of_the_table_or_of_the_worker(tree, cases):
    table = {f"{o['namespace']}.{o['name']}".lstrip(".") for o in json.loads((tree / "docs" / "ops.json").read_text())["ops"]}
    measured = {op["name"] for group in cases["group"] for op in group["ops"]}
    assert measured <= table | set(cases["own"])
    assert not table & set(cases["own"])
    source = "".join((tree / "benchmarks" / name).read_text() for name in ("worker.cpp", "tape.cpp"))
    for name in cases["own"]:
        assert f'"{name}"' in source, f"no worker knows {name}"


def test_every_group_is_judged_against_workers_that_exist(cases, judge):
    for group in cases["group"]:
        assert set(group["against"]) <= judge.known_workers(), group["title"]
        goals = judge.listed(group.get("goal", []))
        assert {g["of"] for g in goals} <= {"best", *group["against"]}, group["title"]
        names = {op["name"].removeprefix("linalg.") for op in group["ops"]}
        sizes = {shape.split("x", 1)[-1] for shape in group["shapes"]}
        for goal in goals:  # one that holds for no case would be met for ever
            assert set(judge.listed(goal.get("ops", []))) <= names, goal
            assert set(judge.listed(goal.get("size", []))) <= sizes, goal


def case(**more):
    return {"op": "linalg.inv", "dtype": "f64", "shape": "100x4x4", "checks": "escape", "streams": 2, "milliseconds": 1,
            "against": ["eigen", "tenth"], **more}


class Answering:
    """Stands for a worker process."""

    def __init__(self, nanoseconds):
        self.nanoseconds, self.asked = nanoseconds, []

    def ask(self, *question):
        self.asked.append(question)
        return self.nanoseconds


def test_a_peer_without_the_op_is_left_out_and_the_others_are_judged(judge):
    workers = {"ours": Answering(10.0), "again": Answering(10.0), "eigen": Answering(None), "tenth": Answering(2.0)}
    times = judge.measure(workers, case(), rounds=3, threads=1)
    assert set(times) == {"ours", "again", "tenth"}
    assert judge.compare(case(), times)["tenth"]["ratio"] == 2.0  # ten times 2 ns for 10 ns
    assert {q[2] for q in workers["tenth"].asked} == {"10x4x4"}
    workers["ours"].nanoseconds = None
    assert judge.measure(workers, case(), rounds=3, threads=1) is None


def test_goals_hold_for_their_ops_sizes_dtypes_and_threads_only(judge):
    group = {"goal": [{"of": "best", "ratio": 9, "ops": ["inv"], "size": ["2x2", "4x4"], "dtype": "f64", "threads": 1}], "avx2": 0.6}
    result = {"best": {"ratio": 10.0}, "avx2": {"ratio": 2.0}}
    assert judge.verdict(group, case(), 1, result, 1) == "met (≥ 9 of best), missed with avx2 (5.0 ≥ 5.4 of best)"
    for other in (case(op="linalg.pinv"), case(shape="100x3x3"), case(dtype="f32")):
        assert judge.verdict(group, other, 1, result, 1) == ""
    assert judge.verdict(group, case(), 1, result, 2) == ""


def test_the_chart_has_a_line_per_op_dtype_and_number_of_threads(judge):
    import xml.etree.ElementTree as xml

    import chart
    rows = [{"group": "g", "op": op, "dtype": dtype, "shape": f"100x{n}x{n}", "threads": 1, "ratios": {"best": {"ratio": n}}}
            for op in ("linalg.inv", "linalg.svd") for dtype in ("f64", "f32") for n in (2, 4, 8)]
    rows.append({"group": "g", "op": "linalg.inv", "dtype": "f64", "shape": "100x6x3", "threads": 1, "missing": True})
    page = xml.fromstring(chart.svg({"rows": rows}))
    assert len(page.findall("{*}polyline")) == 4
    texts = [t.text for t in page.findall("{*}text")]
    assert "inv" in texts and "svd" in texts


def test_shares_of_peak_are_operations_over_those_of_a_large_product_in_the_same_time(judge):
    eight = case(shape="50000x8x8", dtype="f32", against=["peak"])
    assert judge.question("peak", eight) == ("matmul", "f64", "512x512", "escape")
    assert judge.question("peak", case()) is None  # of four rows
    assert judge.question("peak", case(shape="100x8x4", against=["peak"])) is None
    peak = 2 * 512**3  # nanoseconds, at one operation each
    ours = 50000 * 2 * 8**3 * 4  # at a quarter of one
    assert abs(judge.compare(eight, {"ours": [ours], "peak": [peak]})["peak"]["ratio"] - 0.25) < 1e-12
