"""Linear algebra from Python: diagnoses, factors, operators."""
import json

import numpy as np
import pytest

import wellposed as wp

A = [[4.0, 1.0], [1.0, 3.0]]


def test_a_diagnosis_has_all_its_parts():
    x, d = wp.linalg.diagnosed.solve(A, [1.0, 2.0])
    np.testing.assert_allclose(np.asarray(x), np.linalg.solve(A, [1, 2]), rtol=1e-15)
    assert d.status == "ok" and d.ok and d.batch == () and len(d) == 1
    assert d.digits.item() > 12 and d.rcond.item() > 0.1 and d.cond.item() < 3 and d.rank.item() == 2
    assert d.method == "LU" and d.structure
    assert not d.exactly_singular.item() and not d.certified.item()
    data = d.to_dict()
    assert data == json.loads(d.to_json()) and data
    assert "ok" in repr(d) or "digits" in repr(d)
    assert "<svg" in d._repr_html_() and "<pre>" in d._repr_html_()


def test_trouble_does_not_raise_in_diagnosed():
    x, d = wp.linalg.diagnosed.inv([[[1.0, 2], [2, 4]], A])
    assert d.status == ["singular", "ok"] and d.worst == 0 and not d.ok
    assert d[0].dependent == "row 1 = 2 × row 0" and d[0].exactly_singular and d[0].rank == 1
    assert [m.status for m in d] == ["singular", "ok"]
    assert np.isnan(np.asarray(x)[0]).all() and np.isfinite(np.asarray(x)[1]).all()
    v = np.asarray(d[0].null_vector)
    np.testing.assert_allclose(np.array([[1.0, 2], [2, 4]]) @ v, 0, atol=1e-15)
    with pytest.raises(IndexError):
        d[2]


def test_options_reach_the_solver():
    singular = [[1.0, 2.0], [2.0, 4.0]]
    x = wp.linalg.solve(singular, [1.0, 2.0], if_ill="pinv")
    np.testing.assert_allclose(np.asarray(x), np.linalg.pinv(singular) @ [1, 2], rtol=1e-12)
    wp.linalg.solve(singular, [1.0, 2.0], ridge=1e-3)
    wp.linalg.solve(singular, [1.0, 2.0], ridge="auto")
    assert wp.linalg.diagnosed.inv(A, certify=True)[1].certified.item()
    assert wp.linalg.inv(A, accuracy="high", assume="spd").shape == (2, 2)


def test_factors_are_made_once():
    f = wp.linalg.factored(A)
    for k in range(3):
        np.testing.assert_allclose(np.asarray(f.solve([1.0, k])), np.linalg.solve(A, [1.0, k]), rtol=1e-14)
    assert f.decompositions == 1
    np.testing.assert_allclose(np.asarray(f.inv()), np.linalg.inv(A), rtol=1e-14)
    assert f.det().item() == pytest.approx(11) and f.diagnosis.ok and "Factored" in repr(f)
    x, d = f.diagnosed_solve([1.0, 2.0])
    assert d.ok
    assert f.parts().L is not None


def test_operators_need_no_matrix():
    n = 50
    a = np.diag(np.full(n, 4.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    t = wp.asarray(a)
    op = wp.linalg.LinearOperator(n, n, wp.float64, lambda x: t @ x, lambda y: t.mT @ y)
    b = wp.ones(n)
    exact = np.linalg.solve(a, np.ones(n))
    for solver in (wp.linalg.cg, wp.linalg.gmres, wp.linalg.lsmr):
        for form in (op, t):
            r = solver(form, b)
            assert r.status == "ok" and r.residual <= r.target
            np.testing.assert_allclose(np.asarray(r.x), exact, rtol=1e-8)
    seen = []
    wp.linalg.cg(op, b, progress=lambda k, r: seen.append(k), preconditioner=wp.eye(n) * 0.25)
    assert seen
    assert op.shape == (n, n) and (op @ b).shape == (n,) and (op + op)(b)[0].item() == 10.0 and (2.0 * op)(b)[0].item() == 10.0


def test_errors_in_an_operator_come_through():
    op = wp.linalg.LinearOperator(2, 2, "f64", lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wp.linalg.cg(op, [1.0, 2.0])
    with pytest.raises(wp.ShapeError):
        wp.linalg.cg(wp.linalg.LinearOperator(2, 2, "f64", lambda x: wp.ones(3)), [1.0, 2.0])


def test_functions_of_matrices():
    root = wp.linalg.eigh_apply(A, wp.sqrt)
    np.testing.assert_allclose(np.asarray(root @ root), A, rtol=1e-14)
    assert wp.linalg.through_eigh(wp.asarray(A), lambda w, v: wp.sum(w)).item() == pytest.approx(7)
    assert wp.linalg.through_svd(wp.asarray(A), lambda u, s, v: wp.sum(s)).item() == pytest.approx(7)
    assert wp.linalg.svd_apply(A, lambda s: s * 0.0).tolist() == [[0, 0], [0, 0]]


def test_eigh_of_two_matrices_is_the_generalised_problem():
    b = [[4.0, 0.0], [0.0, 1.0]]
    w, v = wp.linalg.eigh(A, b, uplo="lower")
    np.testing.assert_allclose(np.asarray(wp.asarray(A) @ v), np.asarray(wp.asarray(b) @ v * w), atol=1e-14)
    value, diagnosis = wp.linalg.diagnosed.eigh(A, b)
    assert value.eigenvalues.tolist() == w.tolist() and diagnosis.status == "ok"
    with pytest.raises(TypeError, match="eigh_generalized takes 2 positional arguments; got 3"):
        wp.linalg.eigh(A, b, b)


def test_random_numbers_are_those_of_key_and_counter():
    g = wp.random.Generator(42)
    a, b = g.normal((3,)), g.normal((3,))
    assert a.tolist() == wp.random.normal((3,), 42, 0).tolist()
    assert b.tolist() == wp.random.normal((3,), 42, 2).tolist()  # two f64 per block
    h = wp.random.Generator(42)
    h.state = g.state
    assert h.uniform((2,)).tolist() == g.uniform((2,)).tolist()
    assert len({k.key for k in g.split(5)}) == 5
    assert g.integers((100,), 0, 6).tolist() != g.integers((100,), 0, 6).tolist()
    assert sorted(g.permutation(5).tolist()) == [0, 1, 2, 3, 4]
    big = wp.random.Generator(2**64 - 1)
    assert big.normal((1,)).shape == (1,)


def test_a_diagnosis_of_an_empty_matrix_has_no_picture():
    html = wp.linalg.diagnosed.inv(np.zeros((0, 0)))[1]._repr_html_()
    assert "<pre>" in html and "<svg" not in html


def test_a_seed_is_an_integer_of_64_bits_and_nothing_is_cut_off_it():
    for seed in (2**64 + 5, -1):
        with pytest.raises(wp.IntegerOverflow, match=rf"seed must be from 0 to 2\*\*64 - 1; got {seed}"):
            wp.random.Generator(seed)
    for seed in (1.9, "3", None):
        with pytest.raises(TypeError, match="seed must be an integer"):
            wp.random.Generator(seed)
    assert wp.random.Generator(np.int64(3)).key == 3


def test_an_iteration_may_go_unjudged():
    for solver in (wp.linalg.cg, wp.linalg.gmres, wp.linalg.lsmr):
        judged, plain = solver(A, [1.0, 2.0]), solver(A, [1.0, 2.0], judge=False)
        assert judged.digits > 8 and np.isnan(plain.digits) and np.isnan(plain.forward_error)
        assert "not judged" in plain.message and "not judged" not in judged.message
        assert plain.x.tolist() == judged.x.tolist()


def test_an_iteration_names_the_number_that_is_not_finite():
    with pytest.raises(wp.NonFiniteError, match=r"A\[1, 0\] is nan \(1 of 4 elements is not finite\)"):
        wp.linalg.gmres([[1.0, 2.0], [np.nan, 1.0]], [1.0, 2.0])
    with pytest.raises(wp.NonFiniteError, match=r"b\[1\] is inf"):
        wp.linalg.cg(A, [1.0, np.inf])


def test_labels_are_as_many_as_columns_and_rows_of_factors_occur_once():
    with pytest.raises(ValueError, match="one label per column; got 1 label for 2 columns"):
        wp.linalg.inv(A, names=["a"])
    p, l, u = wp.linalg.lu(A)
    with pytest.raises(ValueError, match="every row once; it holds 1 again"):
        wp.linalg.lu_solve([1, 1], l, u, [1.0, 2.0])
