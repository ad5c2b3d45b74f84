"""Documents and source say the same."""
import json
import re


def variables_in_source(tree):
    return {name for path in sorted((tree / "src").rglob("*")) if path.suffix in (".cpp", ".hpp", ".inl")
            for name in re.findall(r'getenv\("(WELLPOSED_\w+)"\)', path.read_text())}


def test_every_variable_read_is_documented_and_every_documented_one_is_read(tree):
    rows = re.findall(r"^\| `(WELLPOSED_\w+)` \|", (tree / "docs" / "environment.md").read_text(), re.M)
    assert len(rows) == len(set(rows))
    assert set(rows) == variables_in_source(tree)


def test_no_variable_is_read_under_a_name_that_the_search_does_not_see(tree):
    """WELLPOSED_ names outside of getenv("…"), messages and the doctor's own table would escape the test above."""
    known = variables_in_source(tree)
    for path in sorted((tree / "src").rglob("*.?pp")):
        for name in re.findall(r"WELLPOSED_[A-Z]+", path.read_text()):
            assert name in known, f"{path.relative_to(tree)} speaks of {name}"


def test_doctor_knows_the_same_variables(cli, tree):
    lines = json.loads(cli("doctor", "--json").stdout)["lines"]
    known = next(line["known"] for line in lines if line["name"] == "environment")
    assert set(known) == variables_in_source(tree)
