"""The command `wellposed`: streams, exit codes, JSON, help."""
import json
import os
import pty
import re
import subprocess

import pytest

COMMANDS = ["tour", "doctor", "ops", "diagnose", "inv", "solve", "lstsq", "pinv", "svd", "cond", "rank", "validate", "schema",
            "bisect", "postmortem", "events", "plot"]


def help_texts(cli):
    text = ""
    for command in [[], *([c] for c in COMMANDS)]:
        done = cli(*command, "--help")
        assert done.returncode == 0 and done.stderr == ""
        text += f"$ wellposed {' '.join([*command, '--help'])}\n{done.stdout}\n"
    return text


def test_help_is_the_golden_text(cli, tree):
    """tests/golden/help.txt; when a change is meant: WP_WRITE_GOLDEN=1 and commit the diff."""
    golden = tree / "tests" / "golden" / "help.txt"
    text = help_texts(cli)
    if os.environ.get("WP_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_every_level_has_examples_and_every_command_is_listed(cli):
    top = cli("--help").stdout
    assert re.findall(r"^  (\w+) {2,}", top.split("Subcommands:")[1].split("Examples:")[0], re.M) == COMMANDS
    for command in COMMANDS:
        assert f"  wellposed {command}" in cli(command, "--help").stdout.split("Examples:")[1]


def test_version_is_printed_on_stdout(cli, tree):
    version = re.search(r"project\(wellposed VERSION (\S+)", (tree / "CMakeLists.txt").read_text())[1]
    done = cli("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"wellposed {version}\n", "")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["ops", "--nonsense"], ["ops", "a", "b"], ["ops", "no_such_op"],
                                       ["doctor", "extra"]])
def test_wrong_usage_exits_with_2_and_says_so_on_stderr(cli, arguments):
    done = cli(*arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr


def test_a_misspelt_op_is_answered_with_its_neighbours(cli):
    assert "Did you mean log or log2?" in cli("ops", "lgo").stderr


def test_ops_lists_every_op_once_with_one_sentence(cli):
    table = json.loads(cli("ops", "--json").stdout)
    assert table["schema_version"] == 1
    listed = cli("ops")
    for op in table["ops"]:
        name = op["namespace"] + "." + op["name"] if op["namespace"] else op["name"]
        assert len(re.findall(rf"^  {re.escape(name)} {{2,}}\S", listed.stdout, re.M)) == 1
    assert f"{len(table['ops'])} ops" in listed.stderr


def test_one_op_is_shown_in_full(cli):
    text = cli("ops", "log").stdout
    assert text.startswith("log(x)") and "domain" in text and "x > 0" in text
    only = json.loads(cli("ops", "log", "--json").stdout)
    assert [op["name"] for op in only["ops"]] == ["log"]


def test_output_that_cannot_be_written_is_an_error(cli):
    with open("/dev/full", "w") as full:
        done = cli("ops", "--json", stdout=full)
    assert done.returncode == 4 and "stdout" in done.stderr


def test_colours_need_a_terminal_or_a_wish(cli):
    assert "\x1b" not in cli("ops").stdout
    assert "\x1b" in cli("ops", WELLPOSED_COLOR="always").stdout
    assert "\x1b" in cli("ops", WELLPOSED_COLOR="always", NO_COLOR="1").stdout

    def on_terminal(**variables):
        reader, writer = pty.openpty()
        done = cli("ops", "log", stdout=writer, **variables)
        os.close(writer)
        text = os.read(reader, 65536).decode()
        os.close(reader)
        assert done.returncode == 0
        return text

    assert "\x1b" in on_terminal(TERM="xterm")
    assert "\x1b" not in on_terminal(TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_terminal(TERM="xterm", WELLPOSED_COLOR="never")
    assert "\x1b" not in on_terminal(TERM="dumb")


# ---- doctor ----------------------------------------------------------------------------------------------------------
def doctor(cli, **variables):
    done = cli("doctor", "--json", **variables)
    report = json.loads(done.stdout)
    assert report["schema_version"] == 1
    lines = {line["name"]: line for line in report["lines"]}
    looks = [line["name"] for line in report["lines"] if line["verdict"] == "look"]
    assert done.returncode == (1 if looks else 0)
    assert report["verdict"] == ("look" if looks else "ok")
    assert all(bool(line["fix"]) == (line["verdict"] == "look") for line in report["lines"])
    return lines


def test_doctor_reports_every_subject_with_plausible_numbers(cli):
    lines = doctor(cli)
    for name in ["processor", "cores", "instruction set", "BLAS", "threads", "clock", "matmul f64", "matmul f32", "BLAS gemm f64", "memory read",
                 "memory copy", "rounding", "subnormal numbers", "memory", "versions", "environment"]:
        assert lines[name]["value"], name
    assert lines["rounding"]["verdict"] == lines["subnormal numbers"]["verdict"] == "ok"
    assert 3e8 < lines["clock"]["measured"] < 1e10
    assert lines["matmul f64"]["measured"] > 1e7 and lines["memory copy"]["measured"] > 1e7


def test_doctor_sees_what_holds_it_back(cli):
    lines = doctor(cli, WELLPOSED_THREADS="200", WELLPOSED_CHECKS="loud", WELLPOSED_THREDS="2")
    assert "WELLPOSED_THREADS=" in lines["threads"]["fix"]
    assert "off, escape, warn or raise" in lines["WELLPOSED_CHECKS"]["fix"]
    assert "no such variable" in lines["WELLPOSED_THREDS"]["fix"]
    assert lines["WELLPOSED_THREADS"]["verdict"] == "ok"
    lines = doctor(cli, WELLPOSED_ISA="baseline")
    if len(lines["instruction set"]["available"]) > 1:
        assert "WELLPOSED_ISA" in lines["instruction set"]["fix"]
        assert "OPENBLAS_CORETYPE" in doctor(cli, OPENBLAS_CORETYPE="Nehalem")["BLAS"]["fix"]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="MXCSR is of x86-64")
def test_doctor_sees_arithmetic_that_foreign_code_changed(cli, tmp_path):
    source = tmp_path / "culprit.c"
    source.write_text("#include <immintrin.h>\n"
                      "__attribute__((constructor)) static void change(void) { _mm_setcsr(_mm_getcsr() | 0x8040 | 0x2000); }\n")
    subprocess.run(["g++", "-x", "c++", "-shared", "-fPIC", "-o", tmp_path / "culprit.so", source], check=True)
    preload = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(tmp_path / "culprit.so")]))
    lines = doctor(cli, LD_PRELOAD=preload, ASAN_OPTIONS="verify_asan_link_order=0")
    assert lines["rounding"]["value"] == "down" and lines["rounding"]["verdict"] == "look"
    assert lines["subnormal numbers"]["value"] == "lost (FTZ, DAZ set)"


# The first numbers of the tensor that is printed first.
def numbers_in(text, count):
    found = re.findall(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?", text.split("Tensor(")[1])
    return [float(n) for n in found[:count]]


# ---- tour ------------------------------------------------------------------------------------------------------------
def test_tour_runs_without_waiting_and_shows_code_beside_output(cli):
    for arguments in (["tour", "--yes"], ["tour"]):
        done = cli(*arguments)
        assert done.returncode == 0 and done.stderr == ""
        titles = re.findall(r"^(\d+)\. ", done.stdout, re.M)
        assert titles == [str(i + 1) for i in range(len(titles))] and len(titles) >= 3
        assert "return log(x);" in done.stdout
        assert "Source: log: made -inf at element [1, 1]" in done.stdout
        assert "x[1, 1] = 0" in done.stdout
        assert "exactly singular" in done.stdout and "1.00001 × row 0" in done.stdout
        assert "999 ok, 1 singular" in done.stdout and "Tensor(999)" in done.stdout
        assert done.stdout.count("WP-GRD-009") == 2  # the sum of singular values at rank 1 and 0
        chapter = done.stdout.split("Gradients through factors")[1].split("\n6. ")[0]
        diagonal = chapter.split("show(gradient(of_diagonal, a));")[1]
        assert re.search(r"\[\[-1\.01192885, +0\.9486833 +\],[\s┃]+\[ ?1\.39140217, +-0\.31622777\]\]", diagonal)
        squares = [chapter.split(f"show(gradient(of_squares, {name}));")[1].split("show")[0] for name in ("tied", "flat", "nothing")]
        for text, expected in zip(squares, ([4, 0, 0, 0, 4, 0, 0, 0, 2], [2, 4, 4, 8], [0] * 4), strict=True):
            assert numbers_in(text, len(expected)) == pytest.approx(expected, abs=1e-12)
        assert numbers_in(chapter.split("show(max(abs(gradient(of_nothing, a))));")[1], 1)[0] < 1e-13
        for name, expected in (("tied", [2, 0, 0, 0, 2, 0, 0, 0, 1]), ("flat", [1, 2, 2, 4]), ("nothing", [0] * 4)):
            text = chapter.split(f"show(gradient(of_distance, {name}) / 2 + 1.0);")[1]
            assert numbers_in(text, len(expected)) == pytest.approx(expected, abs=1e-7)
        assert "the loss depends on the basis of the repeated values 2 and 2" in chapter
        assert "when vectors change their sign" in chapter
        assert "layer2/dense/weights/gradient" in done.stdout and "tensorboard --logdir" in done.stdout


def test_tour_waits_for_enter_on_a_terminal_and_ends_at_q(cli):
    reader, terminal = pty.openpty()
    os.write(reader, b"\nq\n")
    done = cli("tour", stdin=terminal, stdout=terminal)
    text = os.read(reader, 1 << 20).decode()
    os.close(terminal)
    os.close(reader)
    assert done.returncode == 0
    assert "2. " in text and "q to end" in text and "3. " not in text
