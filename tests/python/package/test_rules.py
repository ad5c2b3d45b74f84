"""What rules, pullbacks and directions are given and give back: one for each tensor, in its place; None for none."""
import numpy as np
import pytest

import wellposed as wp

X, Y = wp.asarray([1.0, 2.0]), wp.asarray([5.0, 7.0])


def by_custom_gradient(give):
    return wp.custom_gradient(lambda a, b: (a * b, lambda g: give(a, b, g)))


def by_custom_op(give):
    return wp.custom_op("product", lambda a, b: a * b, vjp=lambda x, y, g: give(*x, g[0]))


def gradients(product):
    with wp.GradientTape() as tape:
        tape.watch([X, Y])
        z = product(X, Y)
    return tape.gradient(z, [X, Y])


@pytest.mark.parametrize("made", (by_custom_gradient, by_custom_op))
def test_none_keeps_its_place_among_the_cotangents(made):
    first, second = gradients(made(lambda a, b, g: (None, g * a)))
    assert first is None and second.tolist() == [1.0, 2.0]
    first, second = gradients(made(lambda a, b, g: [g * b, None]))
    assert first.tolist() == [5.0, 7.0] and second is None


@pytest.mark.parametrize("given", ([], None, [X], [X, X, X]))
@pytest.mark.parametrize("made, name", ((by_custom_gradient, "custom_gradient"), (by_custom_op, "product")))
def test_a_rule_that_gives_too_few_or_too_many_is_named_with_both_counts(made, name, given):
    with pytest.raises(wp.GradientError, match=rf"{name} gives {len(given or [])} derivatives? for 2 inputs"):
        gradients(made(lambda a, b, g: given))


def test_a_rule_of_a_structure_gives_the_same_structure():
    @wp.custom_gradient
    def product(p):
        return p["a"] * p["b"], lambda g: {"b": g * p["a"], "a": None}
    p = {"a": X, "b": Y}
    with wp.GradientTape() as tape:
        tape.watch(p)
        z = product(p)
    g = tape.gradient(z, p)
    assert g["a"] is None and g["b"].tolist() == [1.0, 2.0]


def test_a_pullback_takes_one_cotangent_per_value_and_none_means_zero():
    for names in (None, ("a", "b")):
        _, pullback = wp.vjp(lambda t: dict(zip(names, (t * t, t * 3.0))) if names else (t * t, t * 3.0), X)
        given = {"b": Y, "a": None} if names else (None, Y)
        assert pullback(given).tolist() == [15.0, 21.0]
        assert pullback(None).tolist() == [0.0, 0.0]
    for wrong in ((Y,), (Y, Y, Y)):
        _, pullback = wp.vjp(lambda t: (t * t, t * 3.0), X)
        with pytest.raises(wp.ArgumentError, match=f"got {len(wrong)} for 2 values"):
            pullback(wrong)


def test_directions_belong_to_arguments_by_key():
    x = {"a": X, "b": Y}
    f = lambda p: p["a"] * p["b"]  # noqa: E731
    assert wp.jvp(f, x, {"b": X, "a": wp.zeros(2)})[1].tolist() == [1.0, 4.0]
    assert wp.jvp(f, x, {"b": X, "a": None})[1].tolist() == [1.0, 4.0]
    with pytest.raises(wp.ArgumentError, match="keys"):
        wp.jvp(f, x, {"b": X, "c": Y})
    with pytest.raises(wp.ArgumentError, match="got 1 for 2"):
        wp.jvp(lambda a, b: a * b, (X, Y), (X,))


def test_a_checkpoint_refuses_to_run_again_with_other_draws_or_captures():
    generator, factor = wp.random.Generator(0), [2.0]

    def slope(f, between=lambda: None):
        with wp.GradientTape() as tape:
            tape.watch(X)
            y = wp.checkpoint(f, X)
        between()
        return tape.gradient(y, X).tolist()
    with pytest.raises(wp.GradientError, match="run again"):
        slope(lambda q: q * generator.normal((2,)))
    with pytest.raises(wp.GradientError, match="run again"):
        slope(lambda q: wp.where(generator.bernoulli((2,), 0.5), q, 0.0), lambda: generator.bernoulli((1,), 0.5))
    with pytest.raises(wp.GradientError, match="run again"):
        slope(lambda q: q * factor[0], lambda: factor.append(factor.pop() + 1.0))
    drawn = wp.random.Generator(0).normal((2,)).tolist()
    assert slope(lambda q: q * wp.random.Generator(0).normal((2,))) == drawn


def test_functions_with_rules_refuse_a_watched_tensor_that_they_captured():
    c = wp.asarray([2.0, 2.0])
    made = {
        "checkpoint": lambda k: wp.checkpoint(lambda q: q * k, X),
        "custom_gradient": lambda k: wp.custom_gradient(lambda q: (q * k, lambda g: g * k))(X),
        "custom_op": lambda k: wp.custom_op("times", lambda q: q * k, vjp=lambda x, y, g: [g[0] * k])(X),
        "implicit_root": lambda k: wp.implicit_root(lambda x, p: x * x - p * k, lambda p: wp.sqrt(p * wp.stop_gradient(k)), X),
    }
    for name, f in made.items():
        with wp.GradientTape() as tape:
            tape.watch([X, c])
            with pytest.raises(wp.ArgumentError, match="not among its arguments"):
                f(c)
            assert tape.gradient(f(wp.stop_gradient(c)), X) is not None, name


def test_gradcheck_is_not_true_where_it_judged_nothing():
    steeper = wp.custom_gradient(lambda x: (x * x, lambda g: g * x * 2.02))
    x = wp.asarray([1.0, 2.0], dtype=wp.float32)
    report = wp.gradcheck(steeper, x)
    assert not report and not report.wrong_count and "nothing was judged" in repr(report)
    assert not wp.gradcheck(lambda t: t * t, wp.zeros(0))
    with pytest.raises(wp.DtypeError, match="gradcheck"):
        wp.gradcheck(lambda t: t * 2.0, wp.asarray([1, 2]))


def test_all_data_of_per_sample_gradients_has_the_same_samples():
    with pytest.raises(wp.ShapeError, match="samples"):
        wp.per_sample_gradients(lambda w, d: wp.sum(w * d["a"] * d["b"]), X, {"a": wp.ones(2), "b": wp.ones(3)})


def by_numpy(x):
    return np.exp(np.asarray(x))


def captured(x):
    y = wp.asarray(by_numpy(x))
    return y, lambda g: g * y


def exp_op(vjp, **more):
    return wp.custom_op("bend", lambda x: wp.exp(x), vjp=vjp, **more)


@pytest.mark.parametrize("x", (X, wp.asarray(1.0)))
@pytest.mark.parametrize("f", (
    exp_op(lambda x, y, g: [g[0] * by_numpy(x[0])]),
    exp_op(lambda x, y, g: [by_numpy(x[0]) * np.asarray(g[0])]),
    exp_op(lambda x, y, g: [g[0] * wp.asarray(np.exp(x[0].tolist()))]),
    exp_op(lambda x, y, g: [g[0] * wp.from_dlpack(np.asarray(np.exp(np.from_dlpack(x[0]))))]),
    wp.custom_gradient(lambda x: (wp.exp(x), lambda g: g * by_numpy(x))),
    wp.custom_gradient(captured),
))
def test_second_derivatives_of_a_rule_that_computes_with_numpy_are_refused_by_name(f, x):
    g = wp.gradient(lambda t: wp.sum(f(t)), x)
    np.testing.assert_allclose(np.asarray(g), np.exp(np.asarray(x)), rtol=1e-15)
    with pytest.raises(wp.GradientError, match=r"(bend|custom_gradient) \(test_rules.py:\d+\).*computed outside of wellposed"):
        wp.hessian(lambda t: wp.sum(f(t)), x)


def test_a_tangent_by_a_rule_that_computes_with_numpy_is_refused():
    op = exp_op(lambda x, y, g: [by_numpy(x[0]) * np.asarray(g[0])])
    with pytest.raises(wp.GradientError, match="outside of wellposed"):
        wp.jvp(op, X, X)  # forward mode transposes the rule
    bent = exp_op(lambda x, y, g: [g[0] * y[0]], jvp=lambda x, y, t: [t[0] * by_numpy(x[0])])
    value, tangent = wp.jvp(bent, X, X)
    np.testing.assert_allclose(np.asarray(tangent), np.asarray(value * X), rtol=1e-15)


def test_constants_and_numpy_in_the_forward_function_do_not_hinder_second_derivatives():
    def looks(x, y, g):  # at what is no constant, and uses it as one
        assert np.all(np.isfinite(np.asarray(wp.stop_gradient(x[0])))) and float(x[0][0]) > 0
        return [g[0] * y[0] * np.ones(2)]
    forward = wp.custom_op("bend", lambda x: wp.asarray(by_numpy(x)), vjp=lambda x, y, g: [g[0] * y[0]])
    table = np.ones(2)
    for f in (exp_op(looks), forward, exp_op(lambda x, y, g: [g[0] * y[0] * table * np.float64(1.0)])):
        np.testing.assert_allclose(np.asarray(wp.hessian(lambda t: wp.sum(f(t)), X)), np.diag(by_numpy(X)), rtol=1e-15)


def test_a_pullback_may_capture_what_the_function_computed():
    def exp(x):
        y = wp.exp(x)
        return y, lambda g: g * y
    assert wp.gradcheck(wp.custom_gradient(exp), X, order=2)


def test_a_pullback_of_a_function_that_is_another_one_when_it_runs_again_has_no_second_derivative():
    calls = []

    def drifting(x):
        calls.append(1)
        y = x * x * float(len(calls))
        return y, lambda g: g * y
    f = wp.custom_gradient(drifting)
    with pytest.raises(wp.GradientError, match="run again"):
        wp.hessian(lambda t: wp.sum(f(t)), X)


def test_a_function_that_computes_with_numpy_has_no_derivative_of_zero():
    def f(x):
        return wp.sum(wp.asarray(by_numpy(x)) * x)
    for differentiate in (wp.gradient, wp.jacobian, wp.hessian, lambda f, x: wp.jvp(f, x, x), lambda f, x: wp.vjp(f, x)[1](wp.asarray(1.0)),
                          lambda f, x: wp.linearize(f, x)(x), lambda f, x: wp.hvp(f, x, x)):
        with pytest.raises(wp.GradientError, match="a part of the function .*outside of wellposed"):
            differentiate(f, X)

    def logs(x, seen=[]):
        y = x * x
        seen.append(np.asarray(y))
        return wp.sum(y)
    assert wp.gradient(logs, X).tolist() == [2.0, 4.0]
    assert wp.gradient(lambda x: wp.sum(x * np.ones(2)), X).tolist() == [1.0, 1.0]


def test_an_op_with_a_rule_may_compute_with_numpy_inside_of_a_rule_that_looked_at_its_inputs():
    inner = wp.custom_op("inner", lambda x: wp.asarray(by_numpy(x)), vjp=lambda x, y, g: [g[0] * y[0]])

    def looks(x, y, g):
        assert np.all(np.asarray(x[0]) > 0)
        return [g[0] * inner(x[0])]
    f = exp_op(looks)
    np.testing.assert_allclose(np.asarray(wp.hessian(lambda t: wp.sum(f(t)), X)), np.diag(by_numpy(X)), rtol=1e-15)
