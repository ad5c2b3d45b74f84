"""The eight buggy programs of examples/crash_hunt: six points each for what the report names (tests/docs/blocks.py keeps the
reports true). After a kill, "element" is the rows in work, and "operands" are the facts of the inputs of the call in flight; the
program that dies in training dies twice, of SIGSEGV and of SIGKILL, and each of its two reports must have all six."""
import re

import pytest

from conftest import TREE

POINTS = ("op", "scope", "line", "element", "operands", "origin")
# What each report must say, in the order of POINTS.
PROGRAMS = {
    "log_of_zero": (r"Source: log\[", "scope model", r"example\.cpp:25", r"log\[1, 2\]", r"of x\[1, 2\] = 0", r"← log\[1, 2\]\n"),
    "zero_by_zero": (r"Source: divide\[", "scope normalize", r"example\.cpp:18", r"divide\[13, 0\]",
                     r"x1\[13, 0\] = 0, x2\[13, 0\] = 0", "It rests on counts row 41"),
    "masked_branch": (r"Source: divide in the derivative of sqrt\[", "scope loss", r"example\.cpp:16", r"← multiply in the derivative of sqrt\[1\]",
                      r"of x1 = 0\.5, x2\[1\] = 0,", r"loss: Tensor\(3\.\)\nnan at \[1\] ← .* ← divide in the derivative of sqrt\[1\]\n"),
    "divergence": (r"Source: multiply in the derivative of square", "scope train", r"example\.cpp:18", r"element \[5, 0\]",
                   r"x1 = 2, x2\[5, 0\] = -2\.5\d+e\+38", r"the gradient grows by a factor of 1\.747 per step"),
    "bad_row": (r"first read by take", "scope train", r"example\.cpp:22", "column 4", "= nan", "data row 7311"),
    "exp_overflow": (r"Source: exp\[", "scope softmax", r"example\.cpp:8", r"exp\[17, 2\]", r"x\[17, 2\] = 900", "features row 17"),
    "index_out_of_range": (r"take: indices", "scope embed", r"example\.cpp:13", r"indices\[1\]", r"= 1000 .* length 1000",
                           "tokens row 2, column 1 = 1000"),
    "killed_in_training": (r"The call in flight\n  matmul", r"in train/layer1", r"matmul at example\.cpp:24", r"rows 448 to 511",
                           r"input 0  f32 \[64, 32\], borrowed\n.*input 1  f32 \[32, 64\], 8 sampled in \[0\.1, 0\.1\]",
                           r"died of SIGSEGV .*\n(.*\n)*.*Input 0 of matmul .* is borrowed memory: does its lender still hold it\?"),
    "killed_in_training, SIGKILL": (r"The call in flight\n  augment", r"augment .* in train, step 7", r"augment at example\.cpp:52", r"rows 448 to 511",
                                    r"input 0  f32 \[64, 32\], 8 sampled in \[0, 0\], borrowed",
                                    r"killed without a word .*\n(.*\n)*.*it was in augment at example\.cpp:52 in train\."),
}


def report_of(program):
    """A program that dies twice has two reports, which begin with the name of the recording."""
    name, _, how = program.partition(", ")
    text = (TREE / "examples" / "crash_hunt" / f"{name}.txt").read_text()
    return text.split("run.wpr\n")[2 if how else 1] if name == "killed_in_training" else text


@pytest.mark.parametrize("program", PROGRAMS)
def test_report_names(program):
    report = report_of(program)
    missing = [point for point, text in zip(POINTS, PROGRAMS[program]) if not re.search(text, report)]
    assert not missing, report


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.startswith("killed")])
def test_memory_is_told_by_scope(program):
    assert re.search(r"tensors \d+(\.\d)? KiB live, .*\n +8\.0 KiB in 1 block, 80 KiB at most: train/layer1\n", report_of(program))


def test_no_program_is_left_out():
    assert {p.stem for p in (TREE / "examples" / "crash_hunt").glob("*.cpp")} == {p.partition(", ")[0] for p in PROGRAMS}
