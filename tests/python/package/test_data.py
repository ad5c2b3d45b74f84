"""Schemas, validation and data sets in Python: against NumPy, and what only Python has."""
import gc
import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hn

import wellposed as wp

DATA = np.array([[0.2, 0.8], [0.5, 0.5], [-0.1, 0.9]])


def test_the_documents_example():
    schema = wp.Schema().tensor(rank=2, range=(0, 1))
    report = wp.validate(DATA, schema)
    assert not report and not report.ok
    assert report.findings[0].message == "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2."
    with pytest.raises(wp.ValidationError, match=r"element \[2, 0\] = -0.1 is below 0; 1 of 6 values; row 2") as caught:
        wp.validate(DATA, schema, raise_=True)
    assert isinstance(caught.value, ValueError) and caught.value.code == "WP-VAL-003"
    assert caught.value.report.rules[1].first[0].index == (2, 0)
    with pytest.raises(wp.ValidationError):
        report.raise_()
    wp.validate(np.abs(DATA), schema).raise_()


REALS = st.sampled_from(["f4", "f8", "i1", "i8", "u8", "i4"]).flatmap(
    lambda d: hn.arrays(d, hn.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6)))


@settings(max_examples=200, deadline=None)
@given(REALS, st.integers(-2**62, 2**62), st.integers(-2**62, 2**62))
def test_ranges_are_judged_as_exact_integers_and_reals_compare(x, a, b):
    low, high = sorted((a, b))
    rule = wp.validate(x, wp.Schema().tensor(range=[low, high])).rules[0]
    flat = x.ravel().tolist()  # Python compares int with float exactly
    bad = [i for i, v in enumerate(flat) if not low <= v <= high]
    assert rule.failed == len(bad) and rule.checked == len(flat)
    assert [o.index for o in rule.first] == [tuple(int(k) for k in np.unravel_index(i, x.shape)) for i in bad[:5]]


@settings(max_examples=100, deadline=None)
@given(REALS)
def test_inferred_schemas_are_fulfilled_and_survive_text(x):
    schema = wp.infer_schema(x)
    report = wp.validate(x, schema)
    assert report.ok, schema.toml() + report.text()
    assert wp.Schema.from_toml(schema.toml()) == schema and wp.Schema.from_json(schema.json()) == schema
    assert wp.schema_diff(schema, schema) == []


@settings(max_examples=100, deadline=None)
@given(hn.arrays("f8", st.integers(0, 40), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan, np.inf])))
def test_counts_of_other_rules_are_those_of_loops(x):
    def failed(**rule):
        return wp.validate(x, wp.Schema().tensor(**rule)).rules[0].failed
    assert failed(finite=True) == np.count_nonzero(~np.isfinite(x))
    assert failed(non_null=True) == np.count_nonzero(np.isnan(x))
    assert failed(one_of=[0, 2]) == np.count_nonzero(~np.isin(x, [0, 2]))
    different = len(set(np.where(np.isnan(x), -1.0, x + 0.0).tolist()))
    assert failed(unique=True) == len(x) - different


def test_what_data_and_schemas_may_be(tmp_path):
    np.save(tmp_path / "x.npy", DATA)
    rules = {"version": 1, "tensor": {"range": [0, 1]}}
    (tmp_path / "s.json").write_text(json.dumps(rules))
    schema = wp.Schema(rules)
    schema.save(tmp_path / "s.toml")
    for given_schema in (schema, rules, str(tmp_path / "s.json"), tmp_path / "s.toml", schema.toml()):
        for data in (DATA, wp.asarray(DATA), DATA.tolist(), tmp_path / "x.npy", [str(tmp_path / "x.npy")]):
            assert [r.failed for r in wp.validate(data, given_schema).rules] == [1]
    named = wp.Schema().tensor("x", shape=["n", 2], dtype=wp.float64).tensor("y", shape=["n"]).column("x", "1", range=[0, 0.8]).holds("x.$0 < y")
    report = wp.validate({"x": DATA, "y": np.ones(4)}, named)
    assert sorted({r.rule for r in report.rules if not r.holds}) == ["holds", "range", "shape"]
    report.html(tmp_path / "r.html")
    assert "<svg" in (tmp_path / "r.html").read_text() and json.loads(report.json())["schema_version"] == 1


def test_files_unfold_as_far_as_is_allowed(tmp_path):
    np.savez_compressed(tmp_path / "z.npz", z=np.zeros(1000))
    with pytest.raises(wp.FormatError, match="--max-unfolded"):
        wp.validate(tmp_path / "z.npz", wp.Schema().tensor(rank=1), max_unfolded=1000)
    assert wp.validate(tmp_path / "z.npz", wp.Schema().tensor(rank=1), max_unfolded=9000).ok
    with pytest.raises(wp.FormatError, match="--max-unfolded"):
        wp.infer_schema(tmp_path / "z.npz", max_unfolded=1000)


def test_bad_schemas_say_what_is_nearest():
    with pytest.raises(wp.ArgumentError, match="Did you mean 'range'"):
        wp.Schema().tensor(rnage=[0, 1])
    with pytest.raises(wp.FormatError, match="version"):
        wp.Schema({"version": 9, "tensor": {}})
    with pytest.raises(TypeError):
        wp.Schema().tensor(range=object())
    with pytest.raises(wp.ArgumentError, match="cannot be read"):
        wp.Schema().holds("import os")


def test_data_sets_give_every_row_once_with_its_number(tmp_path):
    x = np.arange(600.0).reshape(200, 3)
    np.save(tmp_path / "x.npy", x)
    for source in ({"x": x, "y": np.arange(200)}, tmp_path / "x.npy"):
        data = wp.Dataset(source, batch=32, seed=5)
        assert (data.rows, len(data), data.names[0]) == (200, 7, "x")
        seen = []
        for batch in data.epoch(1):
            assert np.array_equal(np.asarray(batch["x"]), x[batch.rows]) and wp.rows_of(batch["x"]) == batch.rows
            seen += batch.rows
        assert sorted(seen) == list(range(200)) and seen != list(range(200))
        assert seen == [r for b in wp.Dataset(source, batch=32, seed=5, prefetch=0).epoch(1) for r in b.rows]
    train, test = data.split(0.25)
    assert (train.rows, test.rows) == (150, 50)
    assert data.origin(7) == (str(tmp_path / "x.npy"), 7)
    with pytest.raises(wp.ArgumentError, match="no tensor 'z'"):
        batch["z"]


def test_columns_of_a_table_with_text(tmp_path):
    (tmp_path / "people.csv").write_text("name,age,height\nAda,36,1.65\nAlan,41,1.8\n")
    with pytest.raises(wp.FormatError, match="'Ada' is not a number"):
        wp.Dataset(tmp_path / "people.csv")
    schema = wp.infer_schema(tmp_path / "people.csv", columns=["age", "height"])
    assert wp.validate(tmp_path / "people.csv", schema, columns=["age", "height"]).ok
    data = wp.Dataset(tmp_path / "people.csv", columns=["height", "age"], schema=wp.Schema().column("", "age", range=[0, 130]), shuffle=False)
    assert next(iter(data.epoch())).only.tolist() == [[1.65, 36], [1.8, 41]]


def test_a_schema_is_checked_on_the_way_in():
    with pytest.raises(wp.ValidationError, match="row 2"):
        wp.Dataset(DATA, schema={"version": 1, "tensor": {"range": [0, 1]}})


def test_blame_goes_from_the_loss_to_the_row_of_the_file(tmp_path):
    raw = np.random.default_rng(1).normal(size=(10000, 6))
    raw[7311, 4] = np.nan
    np.save(tmp_path / "data.npy", raw)
    found = []
    with wp.Trace():
        for batch in wp.Dataset(tmp_path / "data.npy", batch=100, seed=2).epoch(0):
            loss = wp.mean(wp.square(batch["data"]))
            if not wp.isfinite(loss):
                found.append(wp.blame(loss))
    assert len(found) == 1 and (found[0].source, found[0].row) == ("data", 7311) and "data row 7311, column 4" in found[0].text()


def test_epochs_left_early_end_their_threads():
    data = wp.Dataset(np.ones((1000, 2)), batch=10)
    before = threading.active_count()
    for k in range(20):
        next(iter(data.epoch(k)))
    gc.collect()
    assert threading.active_count() == before
