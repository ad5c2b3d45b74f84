"""The commands validate and schema: reports, exit codes, JSON, pages, and what the documents derive from the table of rules."""
import json
import os
import pty
import resource
import subprocess

import jsonschema
import numpy as np
import pytest

from conftest import BUILD, clean_environment

SCHEMA = """version = 1
[tensor]
dtype = "f64"
shape = ["rows", 2]
range = [0, 1]
finite = true
"""


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([[0.2, 0.8], [0.5, 0.5], [-0.1, 0.9]]))
    np.save(tmp_path / "good.npy", np.array([[0.2, 0.8], [0.5, 0.5]]))
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def golden(tree, name, text):
    """tests/golden/NAME; when a change is meant: WP_WRITE_GOLDEN=1 and commit the diff."""
    path = tree / name
    if os.environ.get("WP_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_documents_example_names_element_count_and_row(cli, folder, tree):
    done = cli("validate", str(folder / "bad.npy"), "--schema", str(folder / "s.toml"))
    assert (done.returncode, done.stderr) == (1, "")
    assert "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2" in done.stdout
    golden(tree, "tests/golden/validate.txt", done.stdout)


def test_good_data_exits_with_0(cli, folder):
    done = cli("validate", str(folder / "good.npy"), "--schema", str(folder / "s.toml"))
    assert done.returncode == 0 and done.stdout.startswith("valid: all 4 rules hold")


def test_json_and_html(cli, folder):
    page = folder / "report.html"
    done = cli("validate", str(folder / "bad.npy"), "--schema", str(folder / "s.toml"), "--json", "--html", str(page))
    out = json.loads(done.stdout)
    assert done.returncode == 1 and out["schema_version"] == 1 and not out["valid"] and out["rules_broken"] == 1
    broken = next(r for r in out["rules"] if not r["holds"])
    assert (broken["rule"], broken["failed"], broken["checked"], broken["code"]) == ("range", 1, 6, "WP-VAL-003")
    assert broken["first"] == [{"index": [2, 0], "row": 2, "value": "-0.1", "why": "is below 0"}]
    assert out["fields"][0]["low"] == "-0.1" and sum(out["fields"][0]["histogram"]["counts"]) == 6
    text = page.read_text()
    assert "<svg" in text and "<script" not in text and "src=" not in text


def test_several_files_are_tensors_by_name(cli, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 2)))
    np.save(tmp_path / "labels.npy", np.ones(5))
    (tmp_path / "s.toml").write_text('version = 1\n[tensor.x]\nshape = ["n", 2]\n[tensor.y]\nshape = ["n"]\n')
    done = cli("validate", str(tmp_path / "x.npy"), f"y={tmp_path / 'labels.npy'}", "--schema", str(tmp_path / "s.toml"))
    assert done.returncode == 1 and "'n' is 4 by x axis 0" in done.stdout
    done = cli("validate", str(tmp_path / "x.npy"), "--schema", str(tmp_path / "s.toml"))
    assert done.returncode == 1 and "there is no tensor 'y' in the data" in done.stdout


def test_a_table_is_judged_by_column(cli, tmp_path):
    (tmp_path / "t.csv").write_text("id,age,low,high\n1,30,0,1\n2,,3,2\n2,200,0,1\n")
    (tmp_path / "s.toml").write_text('version = 1\n[tensor]\nholds = ["low <= high"]\n[tensor.column.id]\nunique = true\n'
                                     '[tensor.column.age]\nnon_null = true\nrange = [0, 130]\n')
    done = cli("validate", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"))
    assert done.returncode == 1
    for words in ["row 1 breaks low <= high: low = 3, high = 2; 1 of 3 rows", "element [2, 0] = 2 is the same as element [1, 0]",
                  "element [1, 1] = nan is missing; 1 of 3 values; row 1", "element [1, 1] = nan is not a number in [0, 130]; 2 of 3 values; rows 1, 2"]:
        assert words in done.stdout, done.stdout


def test_stdin_is_a_table_or_what_its_first_bytes_say(cli, folder):
    for name, data in (("t.csv", b"a,b\n0.5,1\n0.5,2\n"), ("t.npy", (folder / "bad.npy").read_bytes())):
        (folder / name).write_bytes(data)
        program = os.environ.get("WP_CLI", str(BUILD / "wellposed"))
        with open(folder / name, "rb") as file:
            reader = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)  # a pipe cannot be read twice
            done = subprocess.run([program, "schema", "infer", "-"], stdin=reader.stdout, capture_output=True, text=True)
            reader.wait()
        assert done.returncode == 0 and done.stdout == cli("schema", "infer", str(folder / name)).stdout
    with open(folder / "bad.npy", "rb") as file:
        done = subprocess.run([program, "validate", "-", "--schema", str(folder / "s.toml")], stdin=file, capture_output=True, text=True)
    assert done.returncode == 1 and "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2" in done.stdout
    done = cli("validate", str(folder / "bad.npy"), "--schema", "none.toml")
    assert done.stderr.startswith("wellposed: 'none.toml' cannot be opened")


def test_a_table_with_text_is_judged_and_inferred_by_the_columns_that_are_named(cli, tmp_path):
    table, schema = str(tmp_path / "people.csv"), str(tmp_path / "s.toml")
    (tmp_path / "people.csv").write_text('name,age,height\n"Ada, Countess",36,1.65\nAlan,-41,1.8\n')
    done = cli("schema", "infer", table, "--out", schema)
    assert done.returncode == 3 and "'Ada, Countess' is not a number" in done.stderr and "--columns" in done.stderr
    assert cli("schema", "infer", table, "--columns", "age,height", "--out", schema).returncode == 0
    assert cli("validate", table, "--columns", "age,height", "--schema", schema).returncode == 0
    (tmp_path / "s.toml").write_text("version = 1\n[tensor.column.age]\nrange = [0, 130]\n")
    done = cli("validate", table, "--columns", "age", "--schema", schema)
    assert done.returncode == 1 and "= -41 is below 0; 1 of 2 values; row 1" in done.stdout
    done = cli("validate", table, "--columns", "weight", "--schema", schema)
    assert done.returncode == 3 and "has no column 'weight'" in done.stderr


@pytest.mark.parametrize("text, code, words", [
    ("version = 1\n[tensor]\nrnage = [0, 1]\n", 3, "Did you mean 'range'?"),
    ("version = 1\n[tensor]\nrange = [1, 0]\n", 3, "takes [low, high]"),
    ("version = 9\n", 3, "version 9 is not known"),
    ("not toml", 3, "it is not TOML"),
])
def test_a_bad_schema_is_bad_input(cli, folder, text, code, words):
    (folder / "bad.toml").write_text(text)
    done = cli("validate", str(folder / "good.npy"), "--schema", str(folder / "bad.toml"))
    assert done.returncode == code and words in done.stderr and done.stdout == ""


def test_what_is_not_there_is_bad_input_and_nothing_said_is_wrong_usage(cli, folder):
    assert cli("validate", str(folder / "none.npy"), "--schema", str(folder / "s.toml")).returncode == 3
    assert cli("validate", str(folder / "good.npy"), "--schema", str(folder / "none.toml")).returncode == 3
    assert cli("validate", str(folder / "good.npy")).returncode == 2
    assert cli("schema").returncode == 2
    assert cli("schema", "diff", str(folder / "s.toml")).returncode == 2


def test_inferred_schemas_are_fulfilled_and_commented(cli, folder):
    out = folder / "inferred.toml"
    done = cli("schema", "infer", str(folder / "bad.npy"), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert "# seen: -0.1 to 0.9" in out.read_text()
    assert cli("validate", str(folder / "bad.npy"), "--schema", str(out)).returncode == 0
    as_json = json.loads(cli("schema", "infer", str(folder / "bad.npy"), "--json").stdout)
    assert as_json["version"] == 1 and as_json["tensor"]["dtype"] == "f64"


def test_differences_exit_with_1(cli, folder):
    (folder / "t.toml").write_text(SCHEMA.replace("[0, 1]", "[0, 2]").replace("finite = true\n", ""))
    done = cli("schema", "diff", str(folder / "s.toml"), str(folder / "t.toml"))
    assert done.returncode == 1
    assert done.stdout == "range widened from [0, 1] to [0, 2]\nfinite widened: true is gone\n"
    same = cli("schema", "diff", str(folder / "s.toml"), str(folder / "s.toml"))
    assert (same.returncode, same.stdout) == (0, "") and "say the same" in same.stderr
    changes = json.loads(cli("schema", "diff", str(folder / "s.toml"), str(folder / "t.toml"), "--json").stdout)
    assert changes["schema_version"] == 1 and [c["kind"] for c in changes["changes"]] == ["widened", "widened"]


def test_what_unfolds_too_far_is_refused_with_the_flag_that_allows_it(cli, folder):
    np.savez_compressed(folder / "z.npz", z=np.zeros(2000))
    (folder / "a.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n")
    (folder / "spd.toml").write_text("[tensor]\nspd = true\n")
    for name, least in (("z.npz", "1KiB"), ("a.mtx", "64")):
        rules = str(folder / ("spd.toml" if name == "a.mtx" else "f.toml"))
        (folder / "f.toml").write_text("[tensor]\nfinite = true\n")
        for command in (["validate", str(folder / name), "--schema", rules], ["schema", "infer", str(folder / name)]):
            refused = cli(*command, "--max-unfolded", least)
            assert refused.returncode == 3 and "--max-unfolded" in refused.stderr, refused.stderr
            assert cli(*command, "--max-unfolded", "20 KiB").returncode == 0 and cli(*command).returncode == 0


def test_the_documentation_of_rules_is_derived_from_their_table(cli, tree):
    golden(tree, "docs/schema.md", cli("schema", "rules").stdout)
    golden(tree, "docs/schema.v1.json", cli("schema", "rules", "--json-schema").stdout)


SAMPLES = [
    {}, {"version": 1},
    {"version": 1, "tensor": {}},
    {"version": 1, "tensor": {"rank": 2, "range": [0, 1], "finite": True}},
    {"version": 1, "strict": True, "holds": ["x.a <= y"], "tensor": {
        "x": {"dtype": ["f32", "f64"], "shape": ["batch", 32], "range": "(0, 1]", "column": {"a": {"one_of": [1, 2.5]}}},
        "y": {"shape": ["*"], "range": ["-inf", 5], "max_bytes": "2 GiB", "quantiles": [[0.5, 0, 1]], "unique": "rows"}}},
    {"version": 1, "tensor": {"column": {"a": {"non_null": False}}, "row_sum": 1, "doc": "words"}},
]
BAD = [
    {"version": 2}, {"version": 1, "tensors": {}}, {"version": 1, "tensor": {"rnage": [0, 1]}},
    {"version": 1, "tensor": {"rank": -1}}, {"version": 1, "tensor": {"range": [0]}}, {"version": 1, "tensor": {"finite": 1}},
    {"version": 1, "tensor": {"x": {"column": {"a": {"rank": 1}}}}}, {"version": 1, "tensor": {"monotone": "up"}},
    {"version": 1, "tensor": {"shape": ["a b"]}}, {"version": 1, "tensor": {"max_bytes": "2 GB"}},
    {"version": 1, "tensor": {"quantiles": [[2, 0, 1]]}}, {"version": 1, "tensor": {"reference": [1, 2]}},
    {"version": 1, "holds": "a < b"}, {"version": 1, "tensor": 3}, {"version": 1, "tensor": {"x": 3}},
]


def test_the_json_schema_accepts_what_is_accepted_and_refuses_what_is_refused(cli, tree, folder):
    judge = jsonschema.Draft202012Validator(json.loads((tree / "docs" / "schema.v1.json").read_text()))
    judge.check_schema(judge.schema)

    def accepted(sample):
        (folder / "sample.json").write_text(json.dumps(sample))
        return cli("schema", "diff", str(folder / "sample.json"), str(folder / "sample.json")).returncode == 0

    for sample in SAMPLES:
        assert judge.is_valid(sample) and accepted(sample), sample
    for sample in BAD:
        assert not judge.is_valid(sample) and not accepted(sample), sample


def test_a_file_larger_than_the_memory_it_may_take_is_read_in_blocks_with_a_bar_on_a_terminal(tmp_path):
    """A 400 MB file under a limit of the address space that would not hold it."""
    path = tmp_path / "big.npy"
    x = np.lib.format.open_memmap(path, mode="w+", dtype="f8", shape=(5_000_000, 10))
    x[4_999_999, 9] = 2.0
    x.flush()
    del x
    (tmp_path / "s.toml").write_text("version = 1\n[tensor]\nrange = [0, 1]\nfinite = true\nquantiles = [[0.5, 0, 0]]\n")
    ours, its = pty.openpty()
    program = os.environ.get("WP_CLI", str(BUILD / "wellposed"))
    with open(program, "rb") as file:
        text = file.read()
    sanitized = b"__asan_init" in text or b"__tsan_init" in text  # these take terabytes of addresses

    def limit():
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (300 << 20,) * 2)

    with subprocess.Popen([program, "validate", str(path), "--schema", str(tmp_path / "s.toml")], stdout=subprocess.PIPE, stderr=its,
                          env=clean_environment(WELLPOSED_THREADS="1"), preexec_fn=limit) as process:
        os.close(its)
        shown = b""
        try:
            while more := os.read(ours, 65536):
                shown += more
        except OSError:  # the other end is closed
            pass
        told = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 1 and "element [4999999, 9] = 2 is above 1; 1 of 50000000 values; row 4999999" in told, shown
    assert b"validating" in shown and b"\r" in shown and "%" in shown.decode(), shown
