"""Every function of linalg that takes one matrix, or a matrix and a right-hand side, at the edges of what it takes:
narrow dtypes, bool, matrices of 0 × 0 and 1 × 1, a batch of none."""
import math

import pytest
import wellposed as wp

la = wp.linalg

# The axes of each result of an n × n matrix, after those of the batch; i: integers, c: complex.
ONE = {
    "cholesky": "nn", "cond": "", "det": "", "eig": "cn cnn", "eigh": "n nn", "eigvals": "cn", "eigvalsh": "n",
    "expm": "nn", "inv": "nn", "ldl": "nn nn in", "logdet": "", "logm": "nn", "lu": "in nn nn", "matrix_norm": "",
    "matrix_rank": "i", "nearest_correlation": "nn", "nearest_spd": "nn", "orth": "nn", "pinv": "nn", "polar": "nn nn",
    "projector": "nn", "qr": "nn nn", "qr_pivoted": "nn nn in", "rcond": "", "schur": "nn nn", "slogdet": "- -",
    "sqrtm": "nn", "svd": "nn n nn", "svdvals": "n",
}
TWO = ["solve", "lstsq", "solve_triangular", "eigh_generalized", "kron"]
# det(1) = 1, and so on: of the matrix [[1]] each number is 1, but these.
OF_ONE = {"logdet": 0.0, "logm": 0.0, "slogdet": (1.0, 0.0), "lu": (0, 1.0, 1.0), "ldl": (1.0, 1.0, 0),
          "expm": math.e, "qr_pivoted": (1.0, 1.0, 0)}


def results(value):
    return list(value) if isinstance(value, tuple) else [value]


def shapes(name, n, batch=()):
    specs = ONE[name].split(" ") if ONE[name] else [""]
    return [batch + (n,) * spec.count("n") for spec in specs]


@pytest.mark.parametrize("name", ONE)
def test_a_matrix_of_no_rows_and_a_batch_of_none_have_results_of_their_shapes(name):
    function = getattr(la, name)
    assert [r.shape for r in results(function(wp.zeros((0, 0))))] == shapes(name, 0)
    assert [r.shape for r in results(function(wp.zeros((2, 0, 0))))] == shapes(name, 0, (2,))
    assert [r.shape for r in results(function(wp.zeros((0, 3, 3))))] == shapes(name, 3, (0,))


@pytest.mark.parametrize("name", ONE)
def test_the_matrix_of_one_one_is_answered_exactly(name):
    got = results(getattr(la, name)(wp.asarray([[1.0]])))
    want = OF_ONE.get(name, 1.0)
    want = want if isinstance(want, tuple) else (want,) * len(got)
    for one, number in zip(got, want, strict=True):
        found = complex(wp.reshape(one, (-1,))[0].item())
        found = abs(found.real) if name in ("qr", "qr_pivoted", "svd", "eigh", "schur", "orth") else found.real
        assert found == pytest.approx(number, rel=2e-16, abs=0)


@pytest.mark.parametrize("dtype", [wp.f16, wp.bf16])
@pytest.mark.parametrize("name", ONE)
def test_narrow_dtypes_are_computed_wider_and_rounded_once(name, dtype):
    x = wp.asarray([[4.0, 1.0], [1.0, 3.0]])
    if name == "nearest_correlation":
        x = wp.asarray([[1.0, 0.5], [0.5, 1.0]])
    narrow, wide = results(getattr(la, name)(wp.astype(x, dtype))), results(getattr(la, name)(x))
    for spec, got, want in zip(ONE[name].split(" "), narrow, wide, strict=True):
        assert got.dtype == (wp.i64 if "i" in spec else wp.c64 if "c" in spec else dtype)
        kind = wp.c128 if "c" in spec else wp.f64
        if name == "svd":  # vectors are determined up to their sign
            got, want = wp.abs(got), wp.abs(want)
        most = float(wp.max(wp.abs(want)).item()) if want.size else 0.0
        off = float(wp.max(wp.abs(wp.astype(got, kind) - wp.astype(want, kind))).item())
        assert off <= wp.finfo(wp.f32 if "c" in spec else dtype).eps * most


@pytest.mark.parametrize("name", list(ONE) + TWO)
def test_truth_values_are_no_numbers(name):
    x = wp.asarray([[True, False], [False, True]])
    with pytest.raises(wp.DtypeError, match="got bool"):
        getattr(la, name)(*([x, x] if name in TWO else [x]))


@pytest.mark.parametrize("dtype", [wp.f16, wp.bf16, wp.f32, wp.f64])
@pytest.mark.parametrize("name", ["solve", "lstsq", "solve_triangular"])
def test_right_hand_sides_of_every_dtype_and_of_none(name, dtype):
    function = getattr(la, name)
    assert function(wp.zeros((0, 0), dtype=dtype), wp.zeros((0,), dtype=dtype)).shape == (0,)
    assert function(wp.zeros((0, 3, 3), dtype=dtype), wp.zeros((0, 3, 2), dtype=dtype)).shape == (0, 3, 2)
    x = function(wp.astype(wp.asarray([[4.0]]), dtype), wp.astype(wp.asarray([2.0]), dtype))
    assert x.dtype == dtype and x[0].item() == 0.5


def test_lsmr_keeps_the_history_of_its_residuals():
    a = wp.asarray([[4.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    b = wp.asarray([1.0, 2.0, 3.0])
    done = la.lsmr(a, b)
    history = [float(r) for r in done.residuals]
    assert len(history) == done.iterations + 1 or len(history) == done.iterations
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in zip(history, history[1:]))
    rest = la.vector_norm(la.matmul(a, done.x) - b).item()
    assert history[-1] == pytest.approx(rest, rel=1e-8)


def test_the_policy_ignore_gives_what_elimination_found():
    regular = wp.asarray([[4.0, 1.0], [2.0, 3.0]])
    assert wp.all(la.inv(regular, if_ill="ignore") == la.inv(regular)).item()
    near = wp.asarray([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    got = wp.reshape(la.inv(near, if_ill="ignore"), (-1,))
    assert [got[i].item() for i in range(4)] == pytest.approx([2.0**52, -(2.0**52), -(2.0**52), 2.0**52], rel=1e-12)
    singular = la.inv(wp.asarray([[1.0, 2.0], [2.0, 4.0]]), if_ill="ignore")
    assert not wp.any(wp.isfinite(singular)).item()
