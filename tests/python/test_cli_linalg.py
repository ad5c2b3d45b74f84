"""The commands of linear algebra: data, words, exit codes, JSON and reports."""
import json
import subprocess

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "good.npy", np.array([[4.0, 1.0], [2.0, 3.0]]))
    np.save(tmp_path / "singular.npy", np.array([[1.0, 1.0], [1.00001, 1.00001]]))
    np.save(tmp_path / "b.npy", np.array([1.0, 2.0]))
    np.save(tmp_path / "wide.npy", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    np.save(tmp_path / "nan.npy", np.array([[1.0, np.nan], [0.0, 1.0]]))
    (tmp_path / "prices.csv").write_text("MSFT,AAPL\n1,1.2\n2,2.4\n")
    return tmp_path


def test_inv_prints_the_inverse_and_nothing_else(cli, folder):
    done = cli("inv", str(folder / "good.npy"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [[float(v) for v in line.split(",")] for line in done.stdout.splitlines()]
    assert np.allclose(rows, [[0.3, -0.1], [-0.2, 0.4]], rtol=1e-15)


def test_a_singular_matrix_gives_no_data_but_the_reason(cli, folder):
    done = cli("inv", str(folder / "singular.npy"))
    assert done.returncode == 1 and done.stdout == ""
    assert "exactly singular" in done.stderr and "Row 1 = 1.00001 × row 0" in done.stderr


def test_diagnose_uses_the_labels_of_a_table(cli, folder):
    done = cli("diagnose", str(folder / "prices.csv"))
    assert done.returncode == 1 and "AAPL = 1.2 × MSFT" in done.stdout and "singular values" in done.stdout
    assert "row 1 = 2 × row 0" in done.stdout


def test_answers_beyond_the_range_are_told(cli, folder):
    (folder / "tiny.csv").write_text("1e-310,0\n0,2e-310\n")
    for command in ("inv", "pinv"):
        done = cli(command, str(folder / "tiny.csv"))
        assert done.returncode == 1 and done.stdout == "inf,0\n0,inf\n"
        assert "beyond the range of f64: element [0, 0] is inf" in done.stderr


def test_a_condition_beyond_the_range_is_told_from_an_infinite_one(cli, folder):
    np.save(folder / "far.npy", np.diag(np.array([1e30, 1e-30], dtype=np.float32)))
    done = cli("cond", str(folder / "far.npy"))
    assert (done.returncode, done.stdout) == (1, "inf\n")
    assert "beyond the range of f32, and not infinite: its logarithm to base 10 is 60" in done.stderr
    done = cli("cond", str(folder / "singular.npy"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "inf\n", "")


def test_what_is_not_finite_is_named_without_useless_advice(cli, folder):
    done = cli("inv", str(folder / "nan.npy"))
    assert done.returncode == 1 and "x[0, 1] is nan (1 of 4 elements is not finite)" in done.stderr
    assert "--ridge" not in done.stderr
    done = cli("solve", str(folder / "good.npy"), str(folder / "nan.npy"))
    assert "x2[0, 1] is nan" in done.stderr


def test_names_count_columns_and_tolerances_are_not_negative(cli, folder):
    assert "one name per column; got 3 for 2" in cli("inv", str(folder / "good.npy"), "--names", "a,b,c").stderr
    assert "rtol" in cli("pinv", str(folder / "good.npy"), "--rtol", "-1").stderr


def test_a_table_may_come_from_a_pipe(cli, folder):
    with open(folder / "prices.csv") as table:
        done = cli("diagnose", "-", stdin=table)
    assert done.returncode == 1 and "AAPL = 1.2 × MSFT" in done.stdout


def test_json_has_value_diagnosis_and_version(cli, folder):
    done = cli("solve", str(folder / "good.npy"), str(folder / "b.npy"), "--json", "--certify")
    out = json.loads(done.stdout)
    assert done.returncode == 0 and out["schema_version"] == 1 and np.allclose(out["value"], [0.1, 0.6])
    assert out["diagnosis"]["members"][0]["certified"] is True


def test_results_go_to_files(cli, folder):
    x = folder / "x.npy"
    assert cli("solve", str(folder / "good.npy"), str(folder / "b.npy"), "--out", str(x)).stdout == ""
    assert np.allclose(np.load(x), [0.1, 0.6], rtol=1e-15)
    u, vh, s = (folder / name for name in ("u.npy", "vh.npy", "s.npy"))
    assert cli("svd", str(folder / "wide.npy"), "--out", str(s), "--u", str(u), "--vh", str(vh)).returncode == 0
    assert np.allclose(np.load(u) * np.load(s) @ np.load(vh), np.load(folder / "wide.npy"))


def test_regularised_inverse_and_pseudo_inverse(cli, folder):
    a = np.load(folder / "singular.npy")
    out = json.loads(cli("inv", str(folder / "singular.npy"), "--ridge", "1e-6", "--json").stdout)
    assert np.allclose(out["value"], np.linalg.solve(a.T @ a + 1e-6 * np.eye(2), a.T), rtol=1e-6)
    auto = json.loads(cli("inv", str(folder / "singular.npy"), "--ridge", "auto", "--json").stdout)["value"]
    pinv = json.loads(cli("pinv", str(folder / "singular.npy"), "--atol", "1e-10", "--json").stdout)["value"]
    assert np.abs(np.subtract(auto, pinv)).max() < 1e-6


def test_rank_cond_and_least_squares(cli, folder):
    assert cli("rank", str(folder / "singular.npy")).stdout == "1\n"
    assert float(cli("cond", str(folder / "good.npy")).stdout) == pytest.approx(np.linalg.cond([[4, 1], [2, 3]]), rel=1e-14)
    done = cli("lstsq", str(folder / "wide.npy"), str(folder / "b.npy"))
    got = [float(v) for v in done.stdout.split()]
    assert np.allclose(got, np.linalg.lstsq(np.load(folder / "wide.npy"), [1.0, 2.0], rcond=None)[0])


@pytest.mark.parametrize("command", ["diagnose", "inv", "solve", "lstsq", "pinv", "svd", "cond", "rank"])
def test_every_command_writes_a_page_with_its_spectrum(cli, folder, command):
    page = folder / f"{command}.html"
    right = [str(folder / "b.npy")] if command in ("solve", "lstsq") else []
    done = cli(command, str(folder / "good.npy"), *right, "--html", str(page))
    assert (done.returncode, done.stderr) == (0, "")
    text = page.read_text()
    assert text.count("<svg") >= 1 and "ingular values" in text and command in text
    assert "src=" not in text and "href=" not in text


def test_html_is_one_page_that_loads_nothing(cli, folder):
    page = folder / "report.html"
    cli("solve", str(folder / "good.npy"), str(folder / "b.npy"), "--ridge", "gcv", "--html", str(page))
    text = page.read_text()
    assert text.count("<svg") == 2 and "<script" not in text and "src=" not in text and "Generalised cross-validation" in text
    cli("diagnose", str(folder / "singular.npy"), "--html", str(page))
    assert "What the matrix sends to zero" in page.read_text()


@pytest.mark.parametrize("command", ["solve", "lstsq"])
@pytest.mark.parametrize("rule", ["auto", "gcv", "l-curve", "discrepancy"])
@pytest.mark.parametrize("dtype", ["f8", "c16", "f4", "c8"])
def test_every_rule_of_a_ridge_has_its_curve_with_the_value_taken(cli, folder, command, rule, dtype):
    rng = np.random.default_rng(3)
    i = np.arange(6)
    a = (1.0 / (i[:, None] + i + 1)).astype(dtype)
    if dtype[0] == "c":
        a = a * np.exp(1j * np.outer(i, i + 1)).astype(dtype)
    np.save(folder / "a.npy", a)
    np.save(folder / "data.npy", (a.sum(axis=1) + 1e-3 * rng.standard_normal(6)).astype(dtype))
    page = folder / "ridge.html"
    done = cli(command, str(folder / "a.npy"), str(folder / "data.npy"), "--ridge", rule, "--noise", "2e-3", "--json", "--html", str(page))
    ridge = json.loads(done.stdout)["diagnosis"]["members"][0]["ridge"]
    text = page.read_text()
    assert ridge > 0 and text.count("<svg") == 2
    title = {"l-curve": "Curvature of the L-curve", "discrepancy": "Residual against the noise"}
    assert title.get(rule, "Generalised cross-validation") in text
    if rule == "discrepancy":  # the λ that was taken lies where the residual meets the noise
        a, b = a.astype("c16"), np.load(folder / "data.npy").astype("c16")
        x = np.linalg.solve(a.conj().T @ a + ridge * np.eye(6), a.conj().T @ b)
        assert np.linalg.norm(a @ x - b) == pytest.approx(2e-3, rel=1e-2)
        curve = text[text.index("<svg", text.index("<svg") + 1):]
        assert "noise" in curve and "residual" in curve and "taken" in curve
    else:
        assert "taken" in text


def test_a_complex_right_side_of_a_real_matrix_has_a_ridge_curve(cli, folder):
    np.save(folder / "c.npy", np.array([1.0 + 2j, 2.0 - 1j]))
    page = folder / "ridge.html"
    cli("solve", str(folder / "good.npy"), str(folder / "c.npy"), "--ridge", "gcv", "--html", str(page))
    assert page.read_text().count("<svg") == 2


@pytest.mark.parametrize("arguments, code, words", [
    (["inv", "nan.npy"], 1, "not finite"), (["inv", "wide.npy"], 3, "square"), (["inv", "nowhere.npy"], 3, "nowhere.npy"),
    (["solve", "good.npy"], 2, "b"), (["solve", "good.npy", "wide.npy", "--ridge", "-1"], 2, "ridge"),
    (["inv", "good.npy", "--if-ill", "loud"], 2, "if-ill")])
def test_bad_input_is_answered_with_words(cli, folder, arguments, code, words):
    done = cli(*[str(folder / a) if a.endswith(".npy") else a for a in arguments])
    assert done.returncode == code and words in done.stderr and done.stdout == ""


def test_a_matrix_may_come_through_a_pipe(cli, folder):
    with subprocess.Popen(["cat", str(folder / "good.npy")], stdout=subprocess.PIPE) as pipe:
        assert cli("rank", "-", stdin=pipe.stdout).stdout == "2\n"


def test_options_are_the_attributes_of_the_op(cli, folder):
    ops = {op["name"]: op for op in json.loads(cli("ops", "--json").stdout)["ops"] if op.get("namespace") == "linalg"}
    for command, op in (("inv", "inv"), ("solve", "solve"), ("lstsq", "lstsq"), ("pinv", "pinv"), ("svd", "svdvals"), ("cond", "cond"),
                        ("rank", "matrix_rank")):
        told = cli(command, "--help").stdout
        names = [a["name"] for a in ops[op]["attrs"]]
        assert names, op
        for name in names:
            assert "--" + name.replace("_", "-") in told, (command, name)


@pytest.mark.parametrize("command, option, value, good", [
    ("inv", "--if-ill", "perhaps", "raise, warn, nan, pinv, ridge, ignore"),
    ("inv", "--assume", "round", "detect, general, symmetric, spd, triangular, lower, upper, diagonal"),
    ("inv", "--method", "guess", "auto, lu, cholesky, ldl, qr"),
    ("inv", "--accuracy", "low", "normal, high"),
    ("inv", "--ridge", "some", "a number or one of auto, gcv, l-curve, discrepancy"),
    ("inv", "--min-digits", "many", "a number"),
    ("inv", "--shift", "left", "a number"),
    ("pinv", "--rtol", "small", "a number"),
    ("pinv", "--rtol", "-1", "rtol must not be negative"),
    ("rank", "--if-ill", "pinv", "raise, warn, nan, ignore"),
    ("svd", "--accuracy", "low", "normal, high"),
])
def test_a_value_that_an_option_does_not_take_is_wrong_usage(cli, folder, command, option, value, good):
    done = cli(command, str(folder / "good.npy"), option, value)
    assert (done.returncode, done.stdout) == (2, "") and good in done.stderr


def test_options_reach_the_op(cli, folder):
    def diagnosis(command, *rest):
        done = cli(command, *(str(folder / a) if a.endswith(".npy") else a for a in rest), "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)
    assert diagnosis("solve", "good.npy", "b.npy", "--method", "qr")["diagnosis"]["members"][0]["method"] == "QR"
    assert diagnosis("solve", "good.npy", "b.npy", "--min-digits", "15.99", "--no-refine")["verdict"] == "look"
    shifted = diagnosis("inv", "good.npy", "--shift", "1", "--assume", "lower")["value"]
    assert np.allclose(shifted, np.linalg.inv([[5, 0], [2, 4]]))
    assert diagnosis("lstsq", "good.npy", "b.npy", "--certify")["diagnosis"]["members"][0]["certified"] is True
    rank = diagnosis("rank", "good.npy", "--rtol", "0.9")
    assert rank["value"] == 1 and rank["diagnosis"]["members"][0]["rank_threshold"] == pytest.approx(0.9 * np.linalg.norm([[4, 1], [2, 3]], 2))
    assert diagnosis("solve", "good.npy", "b.npy")["diagnosis"] == diagnosis("solve", "good.npy", "b.npy", "--accuracy", "normal")["diagnosis"]
    fresh = diagnosis("solve", "good.npy", "b.npy", "--refine")["diagnosis"]["members"][0]["backward_error"]
    assert fresh is not None and diagnosis("solve", "good.npy", "b.npy", "--no-refine")["diagnosis"]["members"][0]["backward_error"] is None
    assert "--certify is for square matrices" in cli("diagnose", str(folder / "wide.npy"), "--certify").stderr


def test_names_reach_every_message(cli, folder):
    np.save(folder / "tall.npy", np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]))
    for command in ("pinv", "svd", "rank", "cond"):
        done = cli(command, str(folder / "tall.npy"), "--names", "MSFT,AAPL", "--json")
        assert "AAPL = 2 × MSFT" in json.loads(done.stdout)["diagnosis"]["members"][0]["message"], command
