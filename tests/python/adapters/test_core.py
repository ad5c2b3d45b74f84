"""The shared core of the adapters, without any framework: who made a value, rows, error texts, reports, functions lifted into wellposed."""
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import wellposed as wp
from wellposed import _core, cuda
from wellposed._adapters.functions import Framework, lifted, linalg_function, through
from wellposed._adapters.judge import Note, Operand, decide, judge, value_text
from wellposed._adapters.ops import kind_of
from wellposed._adapters.rows import Rows
from wellposed._adapters.session import Session, blame_of, version_guard

WHERE = {"file": "/models/net.py", "line": 41, "scope": "Net.layer1", "step": 3}
INF, NAN = np.inf, np.nan


def judged(op, operands, out, entrance=lambda o, at: {}):
    return judge(op, kind_of(op), [Operand(*o) for o in operands], np.asarray(out), WHERE, entrance)


def test_no_framework_is_imported():
    program = """import sys, wellposed
import wellposed.cuda
from wellposed._adapters import functions, judge, ops, rows, session
assert not {"torch", "tensorflow", "jax", "keras"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- who made it
def test_an_op_of_finite_operands_made_it_and_element_operands_and_advice_are_told():
    x = np.array([[1.0, 2.0], [0.0, 3.0]])
    with np.errstate(divide="ignore"):
        note = judged("log", [("self", x)], np.log(x))
    assert note.made and note.link["element"] == (1, 0) and note.origin["operands"] == ["x[1, 0] = 0"]
    assert "Mask the input" in note.origin["advice"]
    text = blame_of(note).text()
    assert text.startswith("-inf at [1, 0] ← log[1, 0]\n  Source: log[1, 0] made -inf of x[1, 0] = 0, at net.py:41, scope Net.layer1, step 3")


@pytest.mark.parametrize("op", ["div", "RealDiv", "div_", "truediv"])
def test_the_names_of_the_frameworks_are_one_op(op):
    note = judged(op, [("self", np.array([1.0, 0.0])), ("other", np.array([2.0, 0.0]))], np.array([0.5, NAN]))
    assert note.made and note.origin["operands"] == ["x1[1] = 0", "x2[1] = 0"]


def test_what_an_operand_had_is_inherited_with_its_way():
    first = judged("log", [("x", np.array([0.0, 1.0]))], np.array([-INF, 0.0]))
    second = judged("mul", [("a", np.array([-INF, 0.0]), first), ("b", np.array([0.0, 1.0]))], np.array([NAN, 0.0]))
    third = judged("sum", [("x", np.array([NAN, 0.0]), second)], np.array(NAN))
    assert third.origin is first.origin and [link["op"] for link in third.chain()] == ["sum", "mul", "log"]
    assert first.origin["spread"] == 2


def test_an_infinity_that_was_given_is_nobodys_fault_until_it_makes_a_nan():
    mask = np.array([0.0, -INF])
    added = judged("add", [("scores", np.array([1.0, 2.0])), ("mask", mask)], np.array([1.0, -INF]))
    assert not added.made and added.origin["name"] == "mask" and added.origin["entry"] == (1,)
    rows = np.full((1, 2), -INF)
    made = judged("softmax", [("x", rows)], np.full((1, 2), NAN))
    assert made.made and made.link["op"] == "softmax"
    assert judged("sub", [("a", mask), ("b", mask)], np.array([0.0, NAN])).made


def test_the_element_that_went_on_is_asked_for_where_arrays_last():
    x, taken = np.array([-1.0, 4.0, 0.0]), np.array([7.0, 2.0, -INF])
    first = judge("log", kind_of("log"), [Operand("x", x)], np.array([NAN, np.log(4), -INF]), WHERE, lambda o, at: {}, source=lambda o, at: None)
    doubled = judge("mul", kind_of("mul"), [Operand("a", np.array([NAN, np.log(4), -INF]), first), Operand("b", np.asarray(2.0))],
                    np.array([NAN, 2 * np.log(4), -INF]), WHERE, lambda o, at: {}, source=lambda o, at: None)
    note = judge("where", kind_of("where"), [Operand("a", np.array([NAN, 2 * np.log(4), -INF]), doubled), Operand("b", np.full(3, 7.0))], taken, WHERE,
                 lambda o, at: {}, source=lambda o, at: None)
    assert [link["element"] for link in note.chain()] == [(2,)] * 3 and note.origin["operands"] == ["x[2] = 0"] and note.origin["value"] == "-inf"
    assert first.origin["operands"] == ["x[0] = -1"]
    kept = judge("slice", kind_of("slice"), [Operand("x", np.array([NAN, 2 * np.log(4), -INF]), doubled)], np.array([2 * np.log(4), -INF]), WHERE,
                 lambda o, at: {}, source=lambda o, at: (at[0] + 1,))
    assert [link["element"] for link in kept.chain()] == [(1,), (2,), (2,)] and kept.origin["operands"] == ["x[2] = 0"]


def test_numbers_of_the_program_are_given():
    note = judged("masked_fill", [("x", np.zeros(2)), ("value", np.asarray(-INF))], np.array([0.0, -INF]))
    assert not note.made


def test_a_fresh_infinity_beside_a_given_one_is_found():
    out = np.array([-INF, INF])
    assert decide(kind_of("mul"), [Operand("a", np.array([-INF, 1e300])), Operand("b", np.array([1.0, 1e300]))], out).element == (1,)


def test_of_a_product_of_matrices_the_largest_factors_are_told():
    a, b = np.array([[1.0, 2e200], [1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 3e200]])
    with np.errstate(all="ignore"):
        note = judged("mm", [("self", a), ("mat2", b)], a @ b)
    assert note.link["element"] == (0, 1) and note.origin["operands"] == ["self[0, 1] = 2e+200", "mat2[1, 1] = 3e+200"]


def test_operands_that_were_written_over_are_not_guessed():
    note = judged("mul_", [("self", None), ("other", np.asarray(100.0))], np.array([INF]))
    assert note.made and note.origin["operands"] == ["other = 100"]


def test_overflow_of_a_narrow_type_says_so():
    out = np.array([INF], np.float32)
    note = judged("custom", [("x", np.array([1e30], np.float32))], out)
    assert "beyond the largest float32" in note.origin["advice"]


HALF = np.float16


@pytest.mark.parametrize("op, operands, made, owed", [
    ("mul", [6e4, 6e4], INF, True), ("div", [6e4, 1e-3], INF, True), ("div", [1.0, 0.0], INF, False), ("div", [0.0, 0.0], NAN, False), ("rsqrt", [0.0], INF, False),
    ("add", [6e4, 6e4], INF, True), ("addcmul", [0.0, 6e4, 6e4], INF, True), ("sqrt", [-1.0], NAN, False)])
def test_what_a_scale_may_be_to_blame_for_is_a_number_beyond_the_range_and_no_pole(op, operands, made, owed):
    note = judge(f"{op} in the derivative of f", kind_of(op), [Operand(f"x{k}", np.array([v], HALF)) for k, v in enumerate(operands)], np.array([made], HALF), WHERE,
                 lambda o, at: {})
    assert note.made and note.owed_to_scale(2.0**16) == owed and not note.owed_to_scale(1.0)


def test_of_an_op_that_is_not_element_by_element_only_small_operands_clear_the_scale():
    for size, owed in ((1.0, False), (300.0, True)):
        note = judged("layer_norm in the derivative of f", [("x", np.full((2, 3), size, HALF))], np.full((2, 3), NAN, HALF))
        assert note.owed_to_scale(2.0**16) == owed


def test_what_is_made_of_nothing_that_is_known_is_judged_too():
    for value in (INF, NAN):
        note = judged("OptionalGetValue", [], np.array([value], np.float32))
        assert note.made and note.origin["operands"] == [] and note.link["element"] == (0,)


def test_what_the_forward_pass_made_or_the_data_held_is_never_the_scales_doing():
    with np.errstate(divide="ignore"):
        first = judged("exp", [("x", np.array([20.0], HALF))], np.array([INF], HALF))
    later = judged("mul in the derivative of mul", [("g", np.array([INF], HALF), first), ("x", np.array([2.0], HALF))], np.array([INF], HALF))
    given = judged("mul in the derivative of mul", [("g", np.array([NAN], HALF)), ("x", np.array([2.0], HALF))], np.array([NAN], HALF))
    assert not first.owed_to_scale(2.0**16) and not later.owed_to_scale(2.0**16) and not given.owed_to_scale(2.0**16)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("op, operands, out", [
    ("mm", [np.full((2, 2), 6e4), np.full((2, 2), 6e4)], np.full((2, 2), INF)), ("mul", [np.full(2, 6e4), np.full(2, 6e4)], np.full(2, INF)),
    ("pow", [np.full(2, 6e4), np.full(2, 3.0)], np.full(2, INF)), ("sum", [np.full(4, 6e4)], np.array(INF)), ("log", [np.zeros(2)], np.full(2, -INF)),
    ("sub", [np.full(2, INF), np.full(2, INF)], np.full(2, NAN))])
def test_judging_half_precision_warns_of_nothing(op, operands, out):
    assert judged(op, [(f"x{k}", x.astype(HALF)) for k, x in enumerate(operands)], out.astype(HALF)).made


@pytest.mark.parametrize("v, text", [(0.0, "0"), (-INF, "-inf"), (NAN, "nan"), (1.5, "1.5"), (1e300, "1e+300"), (np.float32(0.1), "0.1"), (900.0, "900"), (True, "True"),
                                     (1e-7, "1e-07"), (1 + 2j, "1+2i")])
def test_values_are_written_as_wellposed_writes_them(v, text):
    assert value_text(v) == text


# ---- rows
def test_rows_are_found_by_address_in_any_layout():
    data, rows = np.arange(12.0).reshape(4, 3), Rows()
    rows.add(data.ctypes.data, data.strides, data.shape, [10, 11, 12, 13], "data", keep=data)
    assert rows.locate(data[2, 1:].ctypes.data) == ("data", 12, (1,))
    assert rows.locate(data.ctypes.data - 8) is None and rows.locate(data.ctypes.data + 8 * 12) is None and rows.locate(data.ctypes.data + 4) is None
    turned = np.asfortranarray(data)
    rows.add(turned.ctypes.data, turned.strides, turned.shape, range(4), "turned", keep=turned)
    assert rows.locate(turned.ctypes.data + turned.strides[0] * 3 + turned.strides[1] * 2) == ("turned", 3, (2,))
    assert rows.of_batch(4)[0] == "turned" and rows.of_batch(5) is None
    with pytest.raises(wp.ShapeError, match="one number per row"):
        rows.add(data.ctypes.data, data.strides, data.shape, [1], "data", keep=data)


def test_data_is_blamed_on_its_row():
    def entrance(o, at):
        return {"source": "data", "name": "data", "row": 7311, "entry": at[1:]}
    x = np.array([[0.0, NAN]])
    note = judged("sub", [("x", x), ("mean", np.zeros((1, 1)))], x, entrance)
    assert "Source: data row 7311, column 1 = nan; first read by sub at net.py:41" in blame_of(note).text()


# ---- sessions
class Plain(Session):
    pass


def made_note():
    return judged("log", [("x", np.array([0.0]))], np.array([-INF]))


def test_levels_raise_warn_or_keep_silent():
    note = made_note()
    s = Plain("escape", None)
    with pytest.raises(wp.NonFiniteError) as caught:
        s.escaped(note, "backward")
    assert caught.value.code == "WP-ESC-001" and wp.blame(caught.value).source == "op" and "made -inf" in str(caught.value)
    s = Plain("warn", None)
    with pytest.warns(wp.NonFiniteWarning, match="made -inf"):
        s.escaped(note, "backward")
    s.escaped(note, "backward")  # of one source once
    assert len(s.findings) == 1
    Plain("off", None).escaped(note, "backward")
    with pytest.raises(wp.ArgumentError, match="level must be one of off, escape, warn, raise"):
        Plain("noisy", None)


def test_a_defect_of_the_adapter_never_reaches_the_model(monkeypatch):
    monkeypatch.setattr(Session, "raises_defects", False)
    s = Plain("escape", None)
    assert s.guarded(lambda: 1 / 0) is None and s.guarded(lambda: 1 / 0) is None
    assert [f.code for f in s.findings] == ["WP-ADP-001"] and s.findings[0].severity == "note"
    s = Plain("escape", None)
    assert s.guarded(lambda: 1) == 1 and not s.findings


def test_an_interface_that_moved_is_named():
    join, = version_guard("torch", "2.10.0+cpu", "2.10", ["os:path.join"])
    assert join is os.path.join
    with pytest.raises(ImportError, match="torch 9.9 does not have os.path.gone, no_such_module.here, which the adapter stands on"):
        version_guard("torch", "9.9", "2.4", ["os:path.gone", "os:path.join", "no_such_module:here"])
    with pytest.raises(ImportError, match="torch 2.9.1 does not have what came with 2.10, which"):
        version_guard("torch", "2.9.1", "2.10", ["os:path.join"])


def test_ways_are_bounded():
    note = made_note()
    for _ in range(100):
        note = Note({**note.link, "op": "add"}, note, note.origin)
    assert len(note.chain()) == 32 and note.chain()[-1]["op"] == "log"


# ---- error texts
@pytest.mark.parametrize("text, status, matrix", [
    ("InternalError: Failed to create cuSolverDN instance", "NOT_INITIALIZED", None),
    ("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnSgetrf`", "INTERNAL_ERROR", None),
    ("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "ALLOC_FAILED", None),
    ("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasSgemm", "EXECUTION_FAILED", None),
    ("linalg.inv: (Batch element 17): The diagonal element 3 is zero, the inversion could not be completed because the input matrix is singular.", "singular", 17),
    ("linalg.cholesky: (Batch element 2): The factorization could not be completed because the input is not positive-definite (the leading minor of order 4 is not positive-definite).",
     "not positive definite", 2),
    ("Input is not invertible. [Op:MatrixInverse]", "singular", None),
    ("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.", "not converged", None),
    ("CUDA error: device-side assert triggered", "device-side assert", None),
    ("CUDA out of memory. Tried to allocate 2.00 GiB", "out of memory", None),
    ("tensorflow/core/kernels/cuda_solvers.cc:541: cuSolverDN call failed with status =6", "EXECUTION_FAILED", None),
    ("cuSolverDN call failed with status =7", "INTERNAL_ERROR", None),
    ("tensorflow/core/util/cuda_solvers.cc:128: cuBlas call failed status = 13 [Op:MatrixSolve]", "EXECUTION_FAILED", None),
    ("cuBlas call failed status = 14", "INTERNAL_ERROR", None),
    ("cusolver error: 7, when calling `cusolverDnCreate(handle)`", "INTERNAL_ERROR", None),
    ("gpusolverDnCreate(&handle) failed: cuSolver internal error", "INTERNAL_ERROR", None),
    ("INTERNAL: jaxlib/gpu/solver_kernels.cc:45: operation gpusolverDnCreate(&handle) failed: cuSolver has not been initialized", "NOT_INITIALIZED", None),
    ("cusolver error: CUSOLVER_STATUS_MAPPING_ERROR, when calling `cusolverDnDgetrf`", "MAPPING_ERROR", None),
    ("CUSOLVER_STATUS_ZERO_PIVOT", "ZERO_PIVOT", None),
    ("cuSolver zero pivot error", "ZERO_PIVOT", None),
    ("Unknown cuSolver error: 30", "IRS_MATRIX_SINGULAR", None),
    ("cuBlas allocation failure", "ALLOC_FAILED", None),
    ("Blas GEMM launch failed : a.shape=(32, 784), b.shape=(784, 128), m=32, n=128, k=784", "EXECUTION_FAILED", None),
    ("SVD did not converge", "not converged", None)])
def test_error_texts_are_explained(text, status, matrix):
    told = cuda.explain(text)
    assert told.status == status and told.matrix == matrix and len(told.meaning) > 20 and told.advice
    assert matrix is None or f"matrix {matrix} of the batch" in told.text()


@pytest.mark.parametrize("text", ["", "mat1 and mat2 shapes cannot be multiplied (2x2 and 7x7)", "list index out of range", "KeyError: 'x'",
                                  "Loss did not converge in 100 epochs", "the solver did not converge", "cusolver error: 0, when calling `f`", "status = 13"])
def test_other_texts_are_left_alone(text):
    assert cuda.explain(text) is None


def test_the_number_of_the_pivot_is_read():
    assert cuda.explain("torch.linalg.solve: The diagonal element 3 is zero, the solve could not be completed because the input matrix is singular.").info == 3


# ---- functions of wellposed for others, and functions of others inside wellposed
class Numbers(Framework):
    """A framework of element-wise functions that differentiates by differences."""

    def to_wp(self, x):
        return wp.asarray(x)

    def from_wp(self, x):
        return np.array(x)

    @staticmethod
    def slope(f, xs, i, h=1e-3):
        def at(t):
            return f([x + t if k == i else x for k, x in enumerate(xs)])
        return [(a - b) / (2 * h) for a, b in zip(at(h), at(-h))]

    def vjp(self, f, xs, gs):
        return [sum(g * d for g, d in zip(gs, self.slope(f, xs, i))) for i in range(len(xs))]

    def jvp(self, f, xs, vs):
        return [sum(terms) for terms in zip(*([v * d for d in self.slope(f, xs, i)] for i, v in enumerate(vs)))]


def test_a_function_of_a_framework_differentiates_twice_inside_wellposed():
    f = lifted(lambda a: [a[0] ** 3], Numbers())
    x = wp.asarray([1.0, 2.0])
    with wp.GradientTape() as outer:
        outer.watch(x)
        with wp.GradientTape() as inner:
            inner.watch(x)
            y = wp.sum(f(x)[0])
        g = inner.gradient(y, x)
        s = wp.sum(g)
    assert np.allclose(np.asarray(g), [3.0, 12.0], rtol=1e-5) and np.allclose(np.asarray(outer.gradient(s, x)), [6.0, 12.0], rtol=1e-4)


def test_derivatives_of_a_function_are_functions_again():
    box = {}
    fn = linalg_function("inv", False, [None], [0], {}, box)
    a = wp.asarray([[2.0, 1.0], [0.5, 3.0]])
    g = wp.asarray([[1.0, 0.0], [2.0, 1.0]])
    x = np.linalg.inv(np.asarray(a))
    want = -x.T @ np.asarray(g) @ x.T
    assert np.allclose(np.asarray(fn.vjp(1)([a, g])[0]), want)
    values, pull = fn.with_pullback([a])
    assert np.allclose(np.asarray(pull([g])[0]), want) and np.allclose(np.asarray(values[0]), x)
    assert np.allclose(np.asarray(fn.jvp(1)([a, g])[0]), -x @ np.asarray(g) @ x)
    twice = fn.vjp(1).vjp(2)([a, g, g])
    assert len(twice) == 2 and all(np.isfinite(np.asarray(t)).all() for t in twice)


def test_through_calls_the_function_that_follows():
    fn = through("svd_apply", lambda s: np.asarray(s) ** 2, Numbers())
    a = wp.asarray([[2.0, 0.0], [0.0, 1.0]])
    assert np.allclose(np.asarray(fn([a])[0]), [[4.0, 0.0], [0.0, 1.0]])


def test_cotangents_at_ties_are_refused():
    outputs = [np.eye(2), np.array([2.0, 2.0]), np.eye(2)]
    guard = linalg_function("svd", False, [None], [0], {}, {}).guard
    guard(outputs, [None, np.ones(2), None])  # values alone have no pole
    guard([np.eye(2), np.array([2.0, 1.0]), np.eye(2)], [np.eye(2), None, None])
    with pytest.raises(wp.GaugeError, match="singular values 0 and 1 are 2 and 2") as caught:
        guard(outputs, [np.eye(2), None, None])
    assert "through_svd" in str(caught.value)
    with pytest.raises(wp.GaugeError, match="too near to 0"):
        guard([np.eye(2), np.array([1.0, 1e-12]), np.eye(2)], [np.eye(2), None, None])


# ---- the compiled part
def test_the_first_element_that_is_not_finite_is_found_in_arrays():
    x = np.ones((3, 4))
    assert _core.first_nonfinite(x) == -1
    x[1, 2] = np.inf
    assert _core.first_nonfinite(x) == 6 and _core.first_nonfinite(x.T) == 7 and _core.first_nonfinite(np.arange(3)) == -1


def test_a_watcher_runs_functions_and_asks_about_floats_that_are_not_finite():
    asked = []
    watcher = _core.Watcher(lambda f: (f.__name__, 0, f), lambda *a: asked.append(a[3]), None, None, None)

    def half(x):
        return x / 2

    def bad(x):
        return float("nan")
    assert watcher.dispatch(None, half, (), (3.0,), None) == 1.5 and not asked
    watcher.dispatch(None, bad, (), (3.0,), {})
    assert len(asked) == 1 and watcher.calls == 2
    with pytest.raises(TypeError):
        watcher.dispatch(half)
    with pytest.raises(ZeroDivisionError):
        watcher.dispatch(None, lambda x: x / 0, (), (1.0,), None)
    del watcher
    gc.collect()


def test_inside_sets_the_scope_for_the_call_only():
    class Owner:
        def forward(self, x, *, twice=False):
            return wp.current_scope(), x, twice
    owner = Owner()
    call = _core.Inside(owner.forward, "Net.layer1", owner)
    assert call(3, twice=True) == ("Net.layer1", 3, True) and wp.current_scope() == "" and call.__wrapped__ == owner.forward


def test_calls_of_others_are_in_recordings(tmp_path):
    path = tmp_path / "run.wpr"
    with wp.record(path), wp.scope("Net.layer1"):
        wp.set_step(5)
        r = _core.Recorded("aten.mm", [wp.ones((2, 3)), wp.ones((3, 2))])
        r.done([wp.ones((2, 2))], False)
        _core.Recorded("aten.log", [wp.zeros((2,))]).done([wp.full((2,), 1.0)], True)
        _core.Recorded("aten.solve", [wp.ones((2, 2))]).left()
        wp.set_step(-1)
    text = wp.postmortem(str(path)).text(10)
    assert "aten.mm" in text and "Net.layer1" in text and "f64 [2, 2]" in text and "step 5" in text and "aten.log" in text
