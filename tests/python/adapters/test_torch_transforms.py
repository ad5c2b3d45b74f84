"""vmap, jacrev, jacfwd, hessian and batched gradients over wellposed.torch.linalg: each against what PyTorch's own functions or one call for each member give."""
import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, vmap

import points
import wellposed as wp
from wellposed.torch import linalg


def spd(seed=0, batch=()):
    return torch.tensor(points.spd(3, seed, batch))


def normal(*shape, seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def share(s):
    return torch.exp(-s) / s.sum()  # not element by element: it must see one matrix


# wellposed's function, the same in PyTorch
FOLLOWED = {
    "eigh_apply": (lambda a: linalg.eigh_apply(a + a.mT, share), lambda a: _composed(*torch.linalg.eigh(a + a.mT), share)),
    "svd_apply": (lambda a: linalg.svd_apply(a, share), lambda a: _restored(*torch.linalg.svd(a), share)),
    "through_eigh": (lambda a: linalg.through_eigh(a + a.mT, lambda s, v: torch.sin(s).sum() * (v * s) @ v.mT),
                     lambda a: torch.sin(torch.linalg.eigvalsh(a + a.mT)).sum() * (a + a.mT)),
    "through_svd": (lambda a: linalg.through_svd(a, lambda u, s, vh: (s.sum() * (u @ vh)).sum(0)),
                    lambda a: (torch.linalg.svdvals(a).sum() * _restored(*torch.linalg.svd(a), torch.ones_like)).sum(0))}


def _composed(s, v, h):
    return (v * h(s)) @ v.mT


def _restored(u, s, vh, h):
    return (u * h(s)) @ vh


@pytest.mark.parametrize("name", FOLLOWED)
def test_functions_that_take_a_function_see_one_matrix_at_a_time(name):
    ours, theirs = FOLLOWED[name]
    a = normal(2, 5, 3, 3)
    assert torch.allclose(vmap(vmap(ours))(a), vmap(vmap(theirs))(a))
    assert torch.allclose(vmap(ours, in_dims=1, out_dims=1)(a[:, 0].movedim(0, 1)), torch.stack([theirs(x) for x in a[:, 0]], 1))
    one = a[0, 0]
    for jacobian in (jacrev, jacfwd):
        assert torch.allclose(jacobian(ours)(one), jacrev(theirs)(one), atol=1e-10)
    assert torch.allclose(vmap(jacrev(ours))(a[0]), vmap(jacrev(theirs))(a[0]), atol=1e-10)
    assert torch.allclose(hessian(lambda x: ours(x).square().sum())(one), hessian(lambda x: theirs(x).square().sum())(one), atol=1e-8)


@pytest.mark.parametrize("mapped", [(0, 0), (0, None), (None, 0)])
def test_further_arguments_of_through_are_mapped_with_it(mapped):
    def f(u, s, vh, w):
        return (w * s.exp() * (u @ vh)).sum()

    def ours(a, w):
        return linalg.through_svd(a, f, w)

    def theirs(a, w):
        return f(*torch.linalg.svd(a), w)
    a, w = (normal(4, 3, 3, seed=k) if d == 0 else normal(3, 3, seed=k) for k, d in enumerate(mapped))
    assert torch.allclose(vmap(ours, mapped)(a, w), vmap(theirs, mapped)(a, w))
    for which in (0, 1):
        for jacobian in (grad, jacrev, jacfwd):
            assert torch.allclose(vmap(jacobian(ours, which), mapped)(a, w), vmap(grad(theirs, which), mapped)(a, w), atol=1e-10), (jacobian, which)
    for second in (lambda: hessian(ours)(a[0], w[0]), lambda: jacrev(jacrev(ours))(a[0], w[0]), lambda: jacfwd(jacfwd(ours))(a[0], w[0])):
        if mapped == (0, 0):
            with pytest.raises(wp.GradientError, match="second derivatives"):
                second()


A, B = spd(1, (4,)), normal(4, 3, 2)
# wellposed's function, the same in PyTorch, arguments, mapped axes
OF_VECTORS = {
    "solve": (linalg.solve, torch.linalg.solve, (A, B[..., 0]), (0, 0)),
    "solve, one matrix": (linalg.solve, torch.linalg.solve, (A[0], B[..., 0]), (None, 0)),
    "solve, one right-hand side": (linalg.solve, torch.linalg.solve, (A, B[0, :, 0]), (0, None)),
    "solve, as many as unknowns": (linalg.solve, torch.linalg.solve, (A[:3], B[:3, :, 0]), (0, 0)),
    "solve, a batch against a matrix": (linalg.solve, torch.linalg.solve, (A.expand(5, 4, 3, 3), B), (0, None)),
    "lstsq": (linalg.lstsq, lambda a, b: torch.linalg.lstsq(a, b[:, None]).solution[:, 0], (normal(4, 5, 3), normal(4, 5)), (0, 0)),
    "matmul of vectors": (linalg.matmul, torch.matmul, (B[..., 0], B[..., 1]), (0, 0)),
    "matmul of a matrix and vectors": (linalg.matmul, torch.matmul, (A, B[..., 0]), (0, 0)),
    "matmul": (linalg.matmul, torch.matmul, (A, B), (0, 0)),
    "tensordot": (lambda a, b: linalg.tensordot(a, b, axes=1), lambda a, b: torch.tensordot(a, b, 1), (A, B), (0, 0)),
    "vector_norm": (linalg.vector_norm, torch.linalg.vector_norm, (B,), (0,)),
    "vector_norm along an axis": (lambda x: linalg.vector_norm(x, axis=0), lambda x: torch.linalg.vector_norm(x, dim=0), (B,), (0,)),
    "matrix_norm along axes": (lambda x: linalg.matrix_norm(x, axis=(0, 2)), lambda x: torch.linalg.matrix_norm(x, dim=(0, 2)), (normal(5, 2, 3, 4),), (0,)),
    "outer": (linalg.outer, torch.outer, (B[..., 0], B[..., 1]), (0, 0)),
    "cross": (linalg.cross, torch.linalg.cross, (B[..., 0], B[..., 1]), (0, 0)),
    "multi_dot": (lambda a, b: linalg.multi_dot([a, a, b]), lambda a, b: torch.linalg.multi_dot([a, a, b]), (A, B), (0, 0))}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_mapped_functions_of_vectors_give_what_each_member_gives(name):
    ours, theirs, args, dims = OF_VECTORS[name]
    if name == "solve, a batch against a matrix":  # PyTorch takes B for vectors
        def theirs(a, b):
            return torch.linalg.inv(a) @ b
    assert torch.allclose(vmap(ours, dims)(*args), vmap(theirs, dims)(*args))
    per_member = [tuple(x[i] if d == 0 else x for x, d in zip(args, dims)) for i in range(3)]
    for which in range(len(args)):
        for jacobian in (jacrev, jacfwd):
            found = vmap(jacobian(ours, which), dims)(*args)
            assert all(torch.allclose(found[i], jacrev(theirs, which)(*m), atol=1e-10) for i, m in enumerate(per_member)), jacobian


@pytest.mark.parametrize("name", ["inv", "svdvals", "eigvalsh", "det", "qr", "pinv"])
def test_batched_gradients_are_those_of_one_cotangent_after_the_other(name):
    a = spd(2).requires_grad_()
    function = getattr(linalg, name)
    y = function(a) if name != "qr" else function(a).R
    cotangents = normal(4, *y.shape)
    found, = torch.autograd.grad(y, a, cotangents, is_grads_batched=True, retain_graph=True)
    assert torch.allclose(found, torch.stack([torch.autograd.grad(y, a, g, retain_graph=True)[0] for g in cotangents]))
    assert torch.allclose(torch.autograd.functional.jacobian(lambda x: function(x) if name != "qr" else function(x).R, a.detach(), vectorize=True),
                          jacrev(lambda x: function(x) if name != "qr" else function(x).R)(a.detach()))


def test_a_member_that_has_no_answer_is_refused_under_vmap_too():
    a = spd(3, (4,))
    a[2] = 1.0
    with pytest.raises(wp.SingularMatrix):
        vmap(linalg.inv)(a)
    with pytest.raises(wp.SingularMatrix):
        vmap(linalg.solve)(a, B[..., 0])


@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (2, None), (None, 1), ((0, 0), (0, 0)), ((0, None), (None, 0)), ((None, 0), (1, None))])
@pytest.mark.parametrize("derived", ["value", "gradient outside", "gradient inside", "tangent outside", "tangent inside"])
def test_mapped_axes_stand_anywhere_and_between_other_transformations(dims, derived):
    """Against loops."""
    nested, v = isinstance(dims[0], tuple), 0.5
    levels = list(zip(*dims)) if nested else [dims]
    a, b = spd(), torch.ones(3, 2, dtype=torch.float64)
    for k, level in enumerate(reversed(levels)):
        a, b = (x if d is None else torch.stack([x * (1 + i + k) for i in range(4)], d) for x, d in zip((a, b), level))

    def one(a, b):
        if derived == "gradient inside":
            return torch.func.grad(lambda a: linalg.solve(a, b).pow(2).sum())(a)
        if derived == "tangent inside":
            return torch.func.jvp(lambda a: linalg.solve(a, b), (a,), (v * a,))[1]
        return linalg.solve(a, b)

    def mapped(a, b, f=one):
        for level in reversed(levels):
            f = torch.func.vmap(f, in_dims=level)
        return f(a, b)

    def looped(a, b, levels=tuple(levels)):
        if not levels:
            return one(a, b)
        da, db = levels[0]
        return torch.stack([looped(a if da is None else a.select(da, i), b if db is None else b.select(db, i), levels[1:]) for i in range(4)])

    def result(f):
        if derived == "gradient outside":
            return torch.func.grad(lambda a: f(a, b).pow(2).sum())(a)
        return torch.func.jvp(lambda a: f(a, b), (a,), (v * a,))[1] if derived == "tangent outside" else f(a, b)
    assert torch.allclose(result(mapped), result(looped), rtol=1e-12, atol=1e-14)


def test_a_gradient_is_recorded_through_vmap():
    a = spd(batch=(4,)).requires_grad_()
    torch.func.vmap(linalg.inv)(a).sum().backward()
    b = a.detach().clone().requires_grad_()
    linalg.inv(b).sum().backward()
    assert torch.equal(a.grad, b.grad)
