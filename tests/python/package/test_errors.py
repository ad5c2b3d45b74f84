"""Findings as exceptions and warnings, with the user's line."""
import inspect
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import wellposed as wp

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def line():
    return inspect.currentframe().f_back.f_lineno


def test_errors_are_also_builtin_ones():
    for make, own, builtin in [(lambda: wp.add(wp.ones(2), wp.ones(3)), wp.ShapeError, ValueError),
                               (lambda: wp.bitwise_and(wp.ones(2), 1.5), wp.DtypeError, TypeError),
                               (lambda: wp.ones(2)[5], wp.IndexError, IndexError),
                               (lambda: wp.astype(wp.asarray([np.nan]), "i64"), wp.DomainError, ArithmeticError),
                               (lambda: wp.linalg.inv(SINGULAR), wp.SingularMatrix, ValueError),
                               (lambda: wp.load("/nowhere/x.npy"), wp.FileError, OSError),
                               (lambda: wp.assert_shape(wp.ones(2), (3,)), wp.AssertionError, AssertionError),
                               (lambda: wp.zeros((2**40, 2**10)), wp.OutOfMemory, MemoryError),
                               (lambda: wp.log(wp.zeros(())).item(), wp.NonFiniteError, FloatingPointError)]:
        with pytest.raises(own) as caught:
            make()
        assert isinstance(caught.value, builtin) and isinstance(caught.value, wp.Error)
        assert caught.value.code.startswith("WP-") and caught.value.finding.message in str(caught.value)


def test_errors_name_file_and_line():
    with pytest.raises(wp.ShapeError) as caught:
        wp.add(wp.ones(2), wp.ones(3)); here = line()  # noqa: E702
        raise AssertionError(here)
    finding = caught.value.finding
    assert finding.file == __file__
    assert finding.line == inspect.getsourcelines(test_errors_name_file_and_line)[1] + 2


def test_the_source_of_an_inf_is_named_with_its_line():
    x = wp.asarray([1.0, 0.0])
    y = wp.log(x); made = line()  # noqa: E702
    with pytest.raises(wp.NonFiniteError) as caught:
        float(wp.sum(y))
    assert f"test_errors.py:{made}" in str(caught.value)
    assert "x[1] = 0" in str(caught.value)


@pytest.mark.parametrize("dtype, large, wider", [("f32", 1e38, "f64"), ("f64", 1e308, None), ("c64", 1e38, "c128"), ("c128", 1e308, None)])
def test_a_wider_dtype_is_advised_where_there_is_one(dtype, large, wider):
    with pytest.raises(wp.NonFiniteError) as caught:
        (wp.asarray([large], dtype=dtype) * 10.0)[0].item()
    assert ("Scale the operands, or compute in " + wider if wider else "Scale the operands.\n") in str(caught.value)


def test_lines_are_right_in_loops_functions_and_operators():
    def inner(x):
        return x / 0.0

    for k in range(3):
        y = inner(wp.asarray([1.0 + k]))
        assert f"test_errors.py:{inspect.getsourcelines(inner)[1] + 1}" in repr(y)


def test_a_singular_matrix_is_numpys_error_too():
    with pytest.raises(np.linalg.LinAlgError) as caught:
        wp.linalg.inv(SINGULAR)
    error = caught.value
    assert isinstance(error, wp.SingularMatrix)
    assert error.diagnosis.status == "singular"
    assert "Row 1 = 2 × row 0" in str(error)
    assert np.isnan(np.asarray(error.value)).all()


def test_a_batch_keeps_its_good_members():
    with pytest.raises(wp.SingularMatrix) as caught:
        wp.linalg.inv([SINGULAR, [[2.0, 0.0], [0.0, 2.0]]])
    assert caught.value.finding.members == [0]
    assert caught.value.value[1].tolist() == [[0.5, 0.0], [0.0, 0.5]]


def test_without_numpy_it_is_a_value_error():
    code = ("import sys, wellposed as wp\ntry: wp.linalg.inv([[1.0, 2], [2, 4]])\nexcept ValueError as e: assert isinstance(e, wp.SingularMatrix)\n"
            "assert 'numpy' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_errors_can_be_pickled():
    with pytest.raises(wp.SingularMatrix) as caught:
        wp.linalg.inv(SINGULAR)
    back = pickle.loads(pickle.dumps(caught.value))
    assert type(back) is wp.SingularMatrix and str(back) == str(caught.value)


def test_warnings_go_through_pythons_warnings_with_the_line():
    hilbert = [[1.0 / (i + j + 1) for j in range(11)] for i in range(11)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        wp.linalg.inv(hilbert, refine=False); here = line()  # noqa: E702
    assert [w.category for w in seen] == [wp.IllConditionedWarning]
    assert (seen[0].filename, seen[0].lineno) == (__file__, here)
    assert issubclass(wp.IllConditionedWarning, RuntimeWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wp.IllConditionedWarning):
            wp.linalg.inv(hilbert, refine=False)


def test_one_place_warns_once():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for k in range(5):
            wp.linalg.inv(SINGULAR, if_ill="warn")
    assert len(seen) == 1


def test_lending_a_made_nan_warns():
    y = wp.log(wp.asarray([0.0]))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        np.asarray(y)
    assert [w.category for w in seen] == [wp.NonFiniteWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.asarray(wp.asarray([np.nan]))  # given, not made


def test_levels_and_scopes_nest_and_end():
    x = wp.asarray([0.0])
    with wp.checks("raise"):
        with pytest.raises(wp.NonFiniteError):
            wp.log(x)
        with wp.checks("off"):
            assert float(wp.log(x)[0]) == -np.inf
        assert wp.check_level() == "raise"
    assert wp.check_level() == "escape"
    with wp.scope("train"), wp.scope("layer2"):
        assert wp.current_scope() == "train/layer2"
        y = wp.log(x)
    assert wp.current_scope() == ""
    with pytest.raises(wp.NonFiniteError, match="scope train/layer2"):
        y[0].item()
    with wp.allow_nonfinite():
        assert float(wp.log(x)[0]) == -np.inf

    @wp.scope("f")
    def f():
        return wp.current_scope()
    assert f() == f() == "f"
    with pytest.raises(ValueError, match="escape"):
        wp.checks("loud")


def test_pandas_labels_reach_messages():
    class Frame:  # as pandas.DataFrame: columns, index and __array__
        columns, index = ["height", "weight"], [0, 1]

        def __array__(self, dtype=None, copy=None):
            return np.array(SINGULAR)
    with pytest.raises(wp.SingularMatrix, match="height"):
        wp.linalg.inv(Frame())
    with pytest.raises(wp.SingularMatrix, match="height"):
        wp.linalg.factored(Frame()).solve([1.0, 2.0])


@pytest.mark.parametrize("call, words", [
    (lambda: wp.asarray(None), "asarray: obj must be a tensor.*got None"),
    (lambda: wp.from_dlpack(None), "from_dlpack: x must have __dlpack__.*got None"),
    (lambda: wp.blame(None), "blame: x must be a tensor.*got None"),
    (lambda: wp.linalg.factored(None), "factored: a must be a tensor.*got None"),
    (lambda: wp.linalg.factored([[1.0]], method=3), "factored: method must be text; got int"),
    (lambda: wp.linalg.factored([[1.0]]).solve(None), "Factored.solve: b must be a tensor.*got None"),
    (lambda: wp.linalg.cg([[1.0]], None), "cg: b must be a tensor.*got None"),
    (lambda: wp.linalg.cg(None, [1.0]), "cg: a must be a tensor.*got None"),
    (lambda: wp.linalg.eigh_apply([[1.0]], None), "eigh_apply: f must be a function; got None"),
    (lambda: wp.linalg.LinearOperator(2, 2, "f64", 3), "LinearOperator: apply must be a function; got int"),
    (lambda: wp.named([1.0], None), "named: name must be text; got None"),
    (lambda: wp.with_rows([1.0], "x", 3), "with_rows: rows must be a list or None; got int"),
    (lambda: wp.assert_shape([1.0], None), "assert_shape: shape must be a tuple of integers; got None"),
    (lambda: wp.scope(None), "scope: name must be text; got None"),
    (lambda: wp.checks(None), "checks: level must be text; got None"),
    (lambda: wp.set_threads(None), "set_threads: count must be an integer; got None"),
    (lambda: wp.set_threads(), "set_threads: count is missing"),
    (lambda: wp.set_threads(1, 2), "set_threads: takes at most 1 positional argument; got 2"),
    (lambda: wp.set_threads(number=2), "set_threads: has no argument 'number'"),
    (lambda: wp.result_type("a", 3), "result_type: arguments must be arrays.*got 'a'"),
    (lambda: wp.custom_gradient(None), "custom_gradient: f must be a function; got None"),
    (lambda: wp.on_finding(3), "on_finding: handler must be a function.*got int"),
])
def test_a_refused_call_names_the_function_the_argument_and_what_is_accepted(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_a_list_of_arrays_of_several_shapes_is_refused_by_the_name_of_the_argument():
    with pytest.raises(wp.ShapeError, match=r"asarray: obj must have arrays of one shape.*\[2\] at 0 and \[3\] at 1"):
        wp.asarray([np.ones(2), np.ones(3)])


def test_pickled_errors_keep_their_finding_and_diagnosis():
    with pytest.raises(wp.SingularMatrix) as caught:
        wp.linalg.inv(SINGULAR)
    error, copy = caught.value, pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(error) and str(copy) == str(error) and copy.code == error.code == "WP-LIN-002"
    assert copy.finding.json() == error.finding.json()
    assert copy.diagnosis == error.diagnosis.to_dict()
