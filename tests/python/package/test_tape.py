"""The methods of a GradientTape: what they give, and where they point."""
import math

import pytest

import wellposed as wp


def recorded(f, x, **options):
    with wp.GradientTape(**options) as tape:
        tape.watch(x)
        y = f(x)
    return tape, y


def test_output_gradients_weigh_the_targets_and_none_means_ones():
    x, weight = wp.asarray([1.0, 2.0]), wp.asarray([10.0, 1.0])
    tape, (square, triple) = recorded(lambda t: (t * t, t * 3.0), x, persistent=True)
    assert tape.gradient(square, x, weight).tolist() == [20.0, 4.0]
    assert tape.gradient([square, triple], x, output_gradients=[None, weight]).tolist() == [32.0, 7.0]
    assert tape.gradient([square, triple], x, output_gradients=[weight, None]).tolist() == [23.0, 7.0]
    named = tape.gradient({"a": square, "b": triple}, x, output_gradients={"b": weight, "a": None})
    assert named.tolist() == [32.0, 7.0]
    for wrong in ([weight], [weight] * 3):
        with pytest.raises(wp.ArgumentError, match=f"got {len(wrong)} for 2 targets"):
            tape.gradient([square, triple], x, output_gradients=wrong)
    with pytest.raises(wp.ShapeError):
        tape.gradient(square, x, wp.asarray([1.0]))


def test_a_complex_cotangent_of_a_real_tensor_is_refused_at_the_line_of_the_user():
    x, wide = wp.asarray([1.0, 2.0]), wp.asarray([1j, 1.0])
    tape, y = recorded(lambda t: t * t, x, persistent=True)
    with pytest.raises(wp.DtypeError, match="test_tape.py:"):
        tape.gradient(y, x, wide)
    tape.hook(y, lambda g: wide)
    with pytest.raises(wp.DtypeError, match="test_tape.py:"):
        tape.gradient(y, x)


def test_batch_jacobian_gives_one_jacobian_for_each_member():
    x = wp.asarray([[1.0, 2.0], [3.0, 4.0]])
    tape, y = recorded(lambda t: t * t, x)
    assert tape.batch_jacobian(y, x).tolist() == [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]


def test_batch_jacobian_refuses_members_that_depend_on_each_other():
    for f in (lambda t: t * t + 5.0 * wp.roll(t, 3, axis=0), lambda t: wp.softmax(t, axis=0),
              lambda t: wp.concat([1e14 * t[:1], t[1:2] + t[2:3], t[2:]])):
        x = wp.arange(1.0, 7.0)
        tape, y = recorded(f, x)
        with pytest.raises(wp.GradientError, match="depend on each other") as refused:
            tape.batch_jacobian(y, x)
        assert refused.value.code == "WP-GRD-006"


def test_findings_say_the_line_and_the_scope_of_the_call_that_they_are_about():
    x = wp.asarray([[2.0, 0.0], [0.0, 2.0]])
    with wp.GradientTape() as tape:
        tape.watch(x)
        with wp.scope("decompose"):
            first = wp.linalg.svd(x).S
        y = first[0]
    assert tape.findings() == []
    with pytest.warns(wp.FindingWarning):
        tape.gradient(y, x)
    found, = tape.findings()
    line = test_findings_say_the_line_and_the_scope_of_the_call_that_they_are_about.__code__.co_firstlineno + 5
    assert (found.code, found.op, found.scope) == ("WP-GRD-009", "svd", "decompose")
    assert f"test_tape.py:{line}" in str(found)


def test_verify_sees_a_loss_that_depends_on_signs():
    x = wp.asarray([[3.0, 1.0], [0.0, 2.0]])
    loss = lambda t: wp.sum(wp.linalg.svd(t).U)  # noqa: E731
    tape, y = recorded(loss, x)
    assert tape.gradient(y, x, verify=False).shape == (2, 2)
    tape, y = recorded(loss, x)
    with pytest.raises(wp.GaugeError):
        tape.gradient(y, x, verify=True)


def test_a_tape_that_was_reset_has_forgotten_what_it_watched_and_records_again():
    x = wp.asarray(3.0)
    tape, y = recorded(lambda t: t * t, x)
    tape.hook(x, lambda g: g * 100.0)
    tape.reset()
    assert tape.recorded == 0 and tape.bytes == 0
    with pytest.raises(wp.GradientError):
        tape.gradient(y, x)
    tape.reset()
    tape.watch(x)
    y = x * x * x
    assert tape.gradient(y, x).item() == 27.0


def test_nothing_passes_stop_gradient():
    x = wp.asarray([2.0, 3.0])
    tape, y = recorded(lambda t: t * wp.stop_gradient(t * t), x)
    assert tape.gradient(y, x).tolist() == [4.0, 9.0]


def test_jacobians_refuse_what_they_have_no_place_for():
    x, z = wp.asarray([1.0, 2.0]), wp.asarray([1.0 + 2j, 3.0])
    with pytest.raises(wp.DtypeError, match="real"):
        wp.jacobian(lambda t: t * 1j, x)
    with pytest.raises(wp.DtypeError, match="hvp"):
        wp.hessian(lambda t: wp.sum(wp.real(t * wp.conj(t))), z)
    direction = wp.asarray([1.0, 1j])
    assert wp.hvp(lambda t: wp.sum(wp.real(t * wp.conj(t))), z, direction).tolist() == [2.0, 2j]
    with pytest.raises(wp.DtypeError, match="jvp"):
        wp.jvp(lambda t: t * 2.0, wp.asarray([1, 2]), x)
    assert math.isclose(wp.jvp(lambda t, n: wp.sum(t) * n, (x, 2), (x, None))[1].item(), 6.0)
