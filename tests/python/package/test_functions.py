"""The functions of the op table: signatures, arguments, bad input."""
import ast
import inspect
import json
import pathlib

import numpy as np
import pytest

import wellposed as wp

TREE = pathlib.Path(__file__).resolve().parents[3]
OPS = json.loads((TREE / "docs" / "ops.json").read_text())["ops"]


def python_function(op, diagnosed=False):
    space = getattr(wp, op["namespace"]) if op["namespace"] else wp
    return getattr(space.diagnosed if diagnosed else space, op["name"])


def stub_signatures():
    for path in sorted((TREE / "python" / "wellposed").rglob("*.pyi")):
        space = path.relative_to(TREE / "python" / "wellposed")
        names = [p for p in space.with_suffix("").parts if p != "__init__"]
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield ".".join([*names, node.name]), node


def kinds(signature):
    return [(p.name, p.kind.name, p.default) for p in signature.parameters.values()]


def stub_kinds(node):
    a, out = node.args, []
    defaults = [inspect.Parameter.empty] * (len(a.posonlyargs) + len(a.args) - len(a.defaults)) + [ast.literal_eval(d) for d in a.defaults]
    for i, arg in enumerate(a.posonlyargs + a.args):
        out.append((arg.arg, "POSITIONAL_ONLY" if i < len(a.posonlyargs) else "POSITIONAL_OR_KEYWORD", defaults[i]))
    if a.vararg:
        out.append((a.vararg.arg, "VAR_POSITIONAL", inspect.Parameter.empty))
    for arg, default in zip(a.kwonlyargs, a.kw_defaults):
        out.append((arg.arg, "KEYWORD_ONLY", inspect.Parameter.empty if default is None else ast.literal_eval(default)))
    return out


@pytest.mark.parametrize("op", OPS, ids=lambda op: op["namespace"] + "." + op["name"])
def test_every_op_is_a_function_with_documentation(op):
    for diagnosed in [False, True] if op["diagnoses"] else [False]:
        f = python_function(op, diagnosed)
        assert op["doc"] in f.__doc__
        assert f.__name__ == op["name"]
        assert [p for p in inspect.signature(f).parameters if p not in ("out", "device")]


def test_stubs_have_the_signatures_of_the_functions():
    compared, seen = 0, set()
    for name, node in stub_signatures():
        f = wp
        wider = "_generalized" if name in seen and node.decorator_list else ""  # the second @overload
        seen.add(name)
        for part in (name + wider).split("."):
            f = getattr(f, part)
        if type(f).__name__.startswith("nb_"):  # nanobind's functions tell no signature
            continue
        signature = inspect.signature(f)
        assert kinds(signature) == stub_kinds(node), name
        compared += 1
    assert compared >= len(OPS)


def test_nothing_public_is_missing_from_the_stubs():
    stub = ast.parse((TREE / "python" / "wellposed" / "__init__.pyi").read_text())
    listed = {n.name for n in stub.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    listed |= {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)} | {"fft", "linalg", "nn", "random", "summary"}
    assert {n for n in vars(wp) if not n.startswith("_")} <= listed


def test_wrong_calls_say_which_argument():
    x = wp.asarray([1.0])
    for call, words in [(lambda: wp.log(), "x is missing"), (lambda: wp.log(x, x), "takes 1 positional"), (lambda: wp.sum(x, 0), "Given by name: axis, "), (lambda: wp.log(x=x), "by position"),
                        (lambda: wp.sum(x, keep=True), "no argument keep; it has axis"), (lambda: wp.sum(x, axis="a"), "axis must be an integer"),
                        (lambda: wp.sum(x, keepdims=1), "keepdims must be True or False"), (lambda: wp.sum(x, dtype="g"), "dtype"),
                        (lambda: wp.add(x, "a"), "add: x2 must be a tensor"), (lambda: wp.add(x, None), "x2"),
                        (lambda: wp.reshape(x, "a"), "shape must be"), (lambda: wp.full((2,), "a"), "fill_value must be a number"),
                        (lambda: wp.linalg.solve(x, x, ridge=[]), "ridge"), (lambda: wp.linalg.inv(x, if_ill=3), "if_ill must be a str"),
                        (lambda: wp.linalg.inv(x, names="ab"), "names must be a list"), (lambda: wp.zeros(2, shape=2), "given twice")]:
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(ValueError, match="one of"):
        wp.linalg.inv(wp.eye(2), if_ill="no")
    with pytest.raises(ValueError, match="cpu"):
        wp.zeros(2, device="cuda")


BAD = {
    "objects": (lambda: np.array([object()]), TypeError, "objects"),
    "big-endian": (lambda: np.arange(3, dtype=">f8"), TypeError, "big-endian"),
    "text": (lambda: "abc", TypeError, "str"),
    "texts": (lambda: ["a"], TypeError, "str"),
    "text array": (lambda: np.array(["a"]), TypeError, "accepted"),
    "dates": (lambda: np.array(["2020-01-01"], dtype="M8[D]"), TypeError, "datetime64"),
    "long double": (lambda: np.arange(2, dtype=np.longdouble), TypeError, "format 'g'"),
    "records": (lambda: np.zeros(2, dtype="i4,f8"), TypeError, "accepted"),
    "None": (lambda: None, TypeError, "None"),
    "a huge int": (lambda: 2**64, ValueError, "no dtype holds"),
    "a huge negative int": (lambda: [-(2**63) - 1], ValueError, "no dtype holds"),
    "an int that Python calls an overflow": (lambda: 10**30, OverflowError, "no dtype holds"),
    "both signs": (lambda: [2**63, -1], ValueError, "negative"),
    "masked": (lambda: np.ma.array([1.0, 2.0], mask=[True, False]), TypeError, "masked"),
    "a ragged list": (lambda: [[1.0, 2.0], [3.0]], ValueError, "rows of one length"),
    "mixed depths": (lambda: [1.0, [2.0]], ValueError, "one depth"),
    "a class": (lambda: float, TypeError, "type"),
    "a dict": (lambda: {}, TypeError, "dict"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused_by_name(case):
    make, kind, words = BAD[case]
    with pytest.raises(kind, match=words) as caught:
        wp.asarray(make())
    assert "obj" in str(caught.value)
    with pytest.raises(kind, match="x1"):
        wp.add(make(), 1.0)


def test_other_devices_are_refused_with_the_way_out():
    class OnCuda:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise AssertionError("asked for memory on another device")
    with pytest.raises(ValueError, match=r"x1 is on another device \(DLPack device 2, CUDA\); wellposed computes on the CPU"):
        wp.add(OnCuda(), 1.0)
    with pytest.raises(TypeError, match="__dlpack__"):
        wp.from_dlpack(3.0)
    with pytest.raises(BufferError, match="CPU only"):
        wp.ones(2).__dlpack__(dl_device=(2, 0))


def test_subclasses_and_numpy_numbers_count_as_what_they_are():
    class Mine(np.ndarray):
        pass
    assert wp.asarray(np.arange(3.0).view(Mine)).tolist() == [0, 1, 2]
    assert wp.asarray(np.matrix([[1.0]])).shape == (1, 1)
    assert wp.asarray(np.float32(1.5)).dtype == wp.float32
    assert (wp.asarray([1.0]) * np.int64(2)).tolist() == [2.0]
    assert wp.sum(wp.ones((2, 3)), axis=np.int64(1)).shape == (2,)
    assert wp.zeros(np.array([2, 3])).shape == (2, 3)
    assert wp.full(2, np.float64(3)).tolist() == [3.0, 3.0]


def test_unaligned_fields_are_copied():
    a = np.zeros(3, dtype=[("flag", "i1"), ("value", "f8")])
    a["value"] = [1.0, 2.0, 3.0]
    assert wp.asarray(a["value"]).tolist() == [1.0, 2.0, 3.0]


def test_lists_of_arrays_are_taken_one_by_one_or_as_one():
    a, b = wp.asarray([1.0]), wp.asarray([2.0])
    assert wp.concat([a, b]).tolist() == wp.concat(a, b).tolist() == [1.0, 2.0]
    assert wp.stack((a, b), axis=1).shape == (1, 2)
    assert wp.einsum("i,i->", a, b).item() == 2.0
    assert [x.shape for x in wp.broadcast_arrays(a, wp.ones((3, 1)))] == [(3, 1), (3, 1)]


def test_tensordot_takes_pairs_of_axes():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(4, 3, 2)
    for axes in (1, ([1, 2], [1, 0]), ((2,), (0,)), 0):
        np.testing.assert_array_equal(np.asarray(wp.tensordot(wp.asarray(a), wp.asarray(b), axes=axes)), np.tensordot(a, b, axes=axes))
    with pytest.raises(TypeError):
        wp.diff(wp.asarray(a), n=([1], [2]))


def test_results_have_names():
    u, s, vh = result = wp.linalg.svd(wp.eye(3))
    assert result._fields == ("U", "S", "Vh") and result.S is s
    assert wp.unique_counts(wp.asarray([1, 1, 2])).counts.tolist() == [2, 1]


def test_out_is_written_in_place():
    a, out = wp.eye(3) * 2.0, wp.empty((3, 3))
    assert wp.linalg.inv(a, out=out) is out
    assert out.tolist() == [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]
    with pytest.raises(ValueError, match="out"):
        wp.linalg.inv(a, out=wp.empty((2, 2)))


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_out_of_stacks_is_the_memory_that_was_given(dtype):
    g = wp.random.Generator(1)
    x = g.normal((50, 4, 4))
    m = wp.astype(x @ x.mT + wp.eye(4), dtype)
    calls = {"inv": lambda **o: wp.linalg.inv(m, **o), "solve": lambda **o: wp.linalg.solve(m, m, **o),
             "cholesky": lambda **o: wp.linalg.cholesky(m, **o), "matmul": lambda **o: wp.matmul(m, m, **o),
             "expm": lambda **o: wp.linalg.expm(m * 0.1, **o), "det": lambda **o: wp.linalg.det(m, **o),
             "svdvals": lambda **o: wp.linalg.svdvals(m, **o), "eigvalsh": lambda **o: wp.linalg.eigvalsh(m, **o)}
    judged = wp.linalg.diagnosed
    told = {"inv": lambda **o: judged.inv(m, **o), "svdvals": lambda **o: judged.svdvals(m, **o)}
    for name, call in told.items():
        out = wp.empty(calls[name]().shape, dtype=dtype)
        value, diagnosis = call(out=out)
        assert value is out and diagnosis.ok, name
        np.testing.assert_array_equal(np.asarray(out), np.asarray(calls[name]()))
    for name, call in calls.items():
        fresh = call()
        out = wp.empty(fresh.shape, dtype=dtype)
        assert call(out=out) is out, name
        np.testing.assert_array_equal(np.asarray(out), np.asarray(fresh))
        with pytest.raises(ValueError, match="out must have the shape"):
            call(out=wp.empty((3,), dtype=dtype))
    with pytest.raises(ValueError, match="out is an argument"):
        wp.matmul(m, m, out=m)


@pytest.mark.parametrize("name", ["svd", "qr", "eigh", "lu", "slogdet"])
def test_results_stand_in_the_tuple_of_tensors_that_is_given(name):
    call = getattr(wp.linalg, name)
    x = wp.random.Generator(3).normal((30, 4, 4))
    m = x @ x.mT + wp.eye(4)
    fresh = call(m)
    out = tuple(wp.empty(t.shape, dtype=t.dtype) for t in fresh)
    for call in (call, call, lambda *a, **o: getattr(wp.linalg.diagnosed, name)(*a, **o)[0], call):
        got = call(m, out=out)
        assert type(got) is type(fresh)
        assert all(a is b for a, b in zip(got, out))
        assert all(wp.all(a == b) for a, b in zip(got, fresh))
    with pytest.raises(TypeError, match=f"{name}: out must be a tuple of {len(out)} tensors; got wellposed.Tensor"):
        call(m, out=out[0])
    with pytest.raises(TypeError, match=f"{name}: out must be a tensor; got int"):
        call(m, out=(*out[:-1], 3))
    with pytest.raises(ValueError, match="out must have the shape"):
        call(m[:2], out=out)


def test_copy_false_gives_the_tensor_itself():
    x = wp.asarray([1.0])
    assert wp.astype(x, wp.float64, copy=False) is x
    assert wp.astype(x, wp.float64) is not x
