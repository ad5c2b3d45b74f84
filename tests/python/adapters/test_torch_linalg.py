"""wellposed.torch.linalg: values, policies, diagnoses, and derivatives against exact answers."""
import types

import pytest
import torch

import hard_gradients as hard
import points
import wellposed as wp
from wellposed.torch import linalg, watch

N = types.SimpleNamespace(la=linalg, sum=torch.sum, real=torch.real, conj=torch.conj, log=torch.log, sqrt=torch.sqrt, mT=lambda x: x.mT,
                          like=lambda s, u: s.to(u.dtype), diagonal=lambda x: torch.diagonal(x, dim1=-2, dim2=-1))


@pytest.mark.parametrize("case", [pytest.param((c, loss), id=name) for c, loss, name in hard.cases()])
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_hard_gradient(case):
    c, loss = case
    arrays = hard.inputs(c)
    order = (c.get("params") or {}).get("order", 1)
    a = torch.tensor(arrays[0], requires_grad=True)
    rest = [torch.tensor(x) for x in arrays[1:]]

    def gradient():
        more = rest[:-1] if order == 2 else rest
        g, = torch.autograd.grad(loss(N, a, *more), a, create_graph=order == 2)
        return torch.autograd.grad((g * rest[-1]).sum(), a)[0] if order == 2 else g
    if c["expect"] == "undefined" or hard.needs_more_than_cotangents(c):
        with pytest.raises(wp.Error):
            gradient()
        return
    hard.judge(c, arrays[0], gradient())


def spd(n, seed=0, batch=()):
    return torch.tensor(points.spd(n, seed, batch))


@pytest.mark.parametrize("name", hard.CHECKED)
def test_first_and_second_derivatives_agree_with_differences(name):
    def symmetric(x):
        return hard.CHECKED[name](N, (x + x.mT) / 2)
    a = spd(3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(symmetric, (a,), eps=1e-6, atol=1e-6)
    assert torch.autograd.gradgradcheck(symmetric, (a,), eps=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", ["inv", "solve", "eigvalsh", "logdet", "cholesky"])
def test_forward_mode_and_vmap(name):
    def f(x):
        return hard.CHECKED[name](N, x)
    a = spd(3, seed=2, batch=(5,))
    v = torch.randn(5, 3, 3, dtype=torch.float64)
    v = v + v.mT
    value, tangent = torch.func.jvp(f, (a,), (v,))
    step = 1e-6
    assert torch.allclose(tangent, (f(a + step * v) - f(a - step * v)) / (2 * step), atol=1e-6)
    assert torch.allclose(torch.func.vmap(f)(a), value)
    per_member = torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(a)
    whole = torch.func.grad(lambda x: f(x).sum())(a)
    assert torch.allclose(per_member, whole)


def test_a_singular_member_is_named_and_the_others_are_right():
    a = spd(2, batch=(4,))
    a[2] = torch.tensor([[1.0, 1.0], [1.00001, 1.00001]], dtype=torch.float64)
    with pytest.raises(wp.SingularMatrix, match="Row 1 = 1.00001 × row 0") as caught:
        linalg.inv(a)
    assert caught.value.diagnosis.status[2] == "singular"
    value, d = linalg.diagnosed.inv(a)
    assert value[2].isnan().all() and torch.allclose(value[3] @ a[3], torch.eye(2, dtype=torch.float64)) and d.status[2] == "singular"
    assert torch.allclose(linalg.inv(a, if_ill="pinv")[2], torch.linalg.pinv(a[2]))


def test_gradients_at_ties_are_refused_where_cotangents_do_not_tell_and_right_where_the_function_is_given():
    a = (2 * torch.eye(3, dtype=torch.float64)).requires_grad_()
    m = torch.randn(3, 3, dtype=torch.float64)
    f = linalg.svd(a, full_matrices=False)
    with pytest.raises(wp.GaugeError, match="through_svd"):
        torch.autograd.grad((m * (f.U @ f.Vh)).sum(), a)
    g, = torch.autograd.grad(linalg.through_svd(a, lambda u, s, vh: (m * (u @ vh)).sum()), a)
    assert torch.allclose(g, torch.autograd.grad((m * linalg.polar(a)[0]).sum(), a)[0])
    assert torch.allclose(g, (m - m.mT) / 4, atol=1e-12)  # dU of the polar factor at 2I along X is (X − Xᵀ)/4
    g, = torch.autograd.grad(linalg.svd(a, full_matrices=False).S.sum(), a)
    assert torch.allclose(g, torch.eye(3, dtype=torch.float64))


def test_other_arguments_of_through_get_their_gradients_and_captured_ones_are_refused():
    a, w = spd(3).requires_grad_(), torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def f(u, s, vh, weight):
        return (weight * ((u * s) @ vh)).sum()
    ga, gw = torch.autograd.grad(linalg.through_svd(a, f, w), (a, w))
    assert torch.allclose(ga, w) and torch.allclose(gw, a)
    with pytest.raises(wp.ArgumentError, match="Hand it over"):
        linalg.through_svd(a, lambda u, s, vh: f(u, s, vh, w))
    for first in (a, w):
        g, = torch.autograd.grad(linalg.through_svd(a, f, w), first, create_graph=True)
        with pytest.raises(wp.GradientError, match="second derivatives"):
            torch.autograd.grad(g.sum(), (a, w), allow_unused=True)


def test_results_may_be_written_to_without_harm_to_gradients():
    a = spd(3).requires_grad_()
    y = linalg.inv(a)
    loss = y.sum()
    with torch.no_grad():
        y.zero_()
    g, = torch.autograd.grad(loss, a)
    x = torch.linalg.inv(a.detach())
    assert torch.allclose(g, -x.mT @ torch.ones(3, 3, dtype=torch.float64) @ x.mT)


def test_dtypes_layouts_and_refusals():
    a = spd(4)
    assert torch.allclose(linalg.inv(a.mT), torch.linalg.inv(a)) and linalg.inv(a.float()).dtype is torch.float32
    assert linalg.solve(a, a[:, :1].float()).dtype is torch.float64
    assert linalg.matrix_rank(a.requires_grad_()).item() == 4
    assert linalg.inv(torch.zeros(0, 2, 2)).shape == (0, 2, 2)
    for bad, words in ((torch.ones(2, 2, device="meta"), "meta"), (torch.eye(2).to_sparse(), "sparse")):
        with pytest.raises(wp.ArgumentError, match=words):
            linalg.inv(bad)
    with pytest.raises(wp.DtypeError, match="PyTorch"):
        linalg.inv([[1.0]])
    with pytest.raises(wp.ShapeError):
        linalg.inv(torch.ones(2, 3))
    c = torch.tensor([[2.0 + 1j, 1.0], [1j, 3.0]])
    assert torch.allclose(linalg.inv(c) @ c, torch.eye(2, dtype=c.dtype), atol=1e-6)
    assert torch.allclose(linalg.inv(a.detach(), device="copy"), linalg.inv(a.detach()))


def test_inside_a_watched_model_the_scope_is_the_module():
    class Whitening(torch.nn.Module):
        def forward(self, x):
            return x @ linalg.inv(x.mT @ x)
    model = torch.nn.Sequential(Whitening())
    with pytest.raises(wp.SingularMatrix) as caught, watch(model):
        model(torch.ones(4, 2))
    assert caught.value.finding.scope == "Sequential.0"


@pytest.mark.parametrize("case", list(hard.pinv_at_ties()), ids=["square", "tall"])
def test_gradient_of_pinv_at_equal_singular_values(case):
    a, w, exact = map(torch.as_tensor, case)
    g, = torch.autograd.grad((w * linalg.pinv(a.requires_grad_())).sum(), a)
    torch.testing.assert_close(g, exact, rtol=1e-13, atol=1e-13)


def test_vmap_is_one_call_of_a_batch(monkeypatch):
    calls, inv = [], wp.linalg.inv
    monkeypatch.setattr(wp.linalg, "inv", lambda x, **options: calls.append(x.shape) or inv(x, **options))
    a = spd(3, batch=(5,))
    mapped = torch.func.vmap(linalg.inv)(a)
    assert calls == [(5, 3, 3)] and torch.equal(mapped, linalg.inv(a))


def test_shift_and_assume_are_handed_over():
    a = spd(3, 4)
    own = wp.linalg.inv(wp.asarray(a.numpy()), shift=0.5, assume="spd")
    assert torch.equal(linalg.inv(a, shift=0.5, assume="spd"), torch.as_tensor(own)) and not torch.allclose(linalg.inv(a), torch.as_tensor(own))
