"""The way back: gradients of scaled losses, and what the program itself does there (Functions, hooks, forward passes that are computed again)."""
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import wellposed as wp
from points import line_of, report_of
from wellposed.torch import linalg, watch

OPTIMIZERS = pytest.mark.parametrize("optimizer", [lambda p: torch.optim.SGD(p, 0.01), lambda p: torch.optim.Adam(p, 0.01, fused=True)], ids=["plain", "fused"])


class Root(nn.Module):
    """Its gradient is 1/0 at one weight, whatever the scale."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.0, 1.0, 4.0]))

    def forward(self, x):
        return torch.sqrt(self.w * x)  # here


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return nn.functional.layer_norm(self.linear(x), (8,)).square()


class Steep(nn.Module):
    """A finite loss whose gradient is beyond the largest f16, also of a loss that is not scaled."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((4,), 1e-3))

    def forward(self, x):
        return (self.w.half() * 300 * x.half() * 300).sum()


def trained(model, x, make, *, scale=2.0**16, steps=1, unscale=False, **options):
    optimizer, scaler = make(model.parameters()), torch.amp.GradScaler("cpu", init_scale=scale)
    with watch(model, optimizer=optimizer, **options) as w:
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(x).float().mean()
            scaler.scale(loss).backward()
            if unscale:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    return w, scaler


@OPTIMIZERS
@pytest.mark.parametrize("unscale", [False, True])
def test_a_gradient_that_no_scale_makes_finite_is_told_at_once(optimizer, unscale):
    report = report_of(lambda: trained(Root(), torch.ones(3), optimizer, unscale=unscale))
    assert "gradient of w" in report and "Source: div in the derivative of sqrt[0] made inf of" in report and f":{line_of(Root.forward)}, scope Root" in report


@OPTIMIZERS
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_a_guard_tells_it_for_each_step_that_the_scaler_leaves_out(optimizer):
    model = Root()
    w, _ = trained(model, torch.ones(3), optimizer, steps=3, guard=True)
    assert w.refused == 3 and model.w.tolist() == [0.0, 1.0, 4.0] and "derivative of sqrt" in w.report()


@OPTIMIZERS
def test_overflow_of_a_scale_that_is_too_large_is_the_scalers_business(optimizer):
    torch.manual_seed(1)
    w, scaler = trained(Normed(), torch.randn(4, 8), optimizer, scale=2.0**40, steps=30)
    assert not w.findings and 1 < scaler.get_scale() < 2.0**30


def test_overflow_that_stays_when_the_loss_is_no_longer_scaled_is_told():
    assert "made inf" in report_of(lambda: trained(Steep(), torch.ones(4), lambda p: torch.optim.SGD(p, 0.0), steps=40))
    trained(Steep(), torch.ones(4), lambda p: torch.optim.SGD(p, 0.0), steps=4)  # at first it may be the scale


def test_a_guard_that_has_refused_the_last_step_ends_in_peace():
    model = Root()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, optimizer=optimizer, guard=True) as w, pytest.warns(wp.FindingWarning, match="refused"):
        model(torch.ones(3)).sum().backward()
        optimizer.step()
    assert w.refused == 1


# ---- what the program does on the way back
class Divides(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone() * 2

    @staticmethod
    def backward(ctx, g):
        return g / torch.zeros(3)  # here


class Layer(nn.Module):
    def forward(self, x):
        return Divides.apply(torch.exp(x)).sin()


def test_a_function_of_the_program_is_blamed_at_its_own_line_with_the_scope_of_its_module():
    x, model = torch.ones(3, requires_grad=True), Layer()

    def run():
        with watch(model):
            model(x).sum().backward()
    report = report_of(run)
    assert "Source: div in the derivative of Divides[0] made inf of " in report, report
    assert f"test_torch_backward.py:{line_of(Divides.backward)}, scope Layer," in report


def hook(g):
    return g / torch.zeros(3)  # here


@pytest.mark.parametrize("where", ["result", "leaf", "node", "module"])
def test_a_hook_is_blamed_at_its_own_line_and_no_op_of_the_model_for_it(where):
    x, model = torch.ones(3, requires_grad=True), nn.Sequential(nn.Softplus())

    def run():
        with watch(model):
            y = model(x)
            if where == "module":
                model[0].register_full_backward_hook(lambda m, gi, go: (hook(gi[0]),))
                y = model(x)
            elif where == "node":
                y.grad_fn.register_hook(lambda gi, go: (hook(gi[0]),))
            else:
                (y if where == "result" else x).register_hook(hook)
            y.sum().backward()
    report = report_of(run)
    assert f"Source: div in the backward pass[0] made inf of x1[0] = " in report and f"test_torch_backward.py:{line_of(hook)}, " in report, report


class Again(nn.Module):
    """Computed twice: the second time, on the way back, its input has been set to 0."""

    def forward(self, x, w):
        return torch.log(x) * w  # here


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_forward_pass_that_is_computed_again_is_blamed_as_what_it_is(reentrant):
    model, x, w = Again(), torch.ones(3), torch.ones(3, requires_grad=True)

    def run():
        with watch(model):
            y = checkpoint(model, x, w, use_reentrant=reentrant)
            x.data.zero_()
            y.sum().backward()
    report = report_of(run)
    assert "Source: log in the backward pass[0] made -inf of x[0] = 0" in report and f":{line_of(Again.forward)}, scope Again" in report, report


# ---- linear algebra of wellposed
class Inverse(nn.Module):
    def forward(self, x):
        return linalg.inv(x, if_ill="nan") * 2  # here


class OfLogarithms(nn.Module):
    def forward(self, x):
        return linalg.inv(torch.log(x - 1))  # here


@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_linear_algebra_is_an_op_with_a_line_and_a_scope_that_makes_values_and_reads_them():
    for model, source in ((Inverse(), "linalg.inv[0, 0] made nan"), (OfLogarithms(), "log[0, 0] made -inf of x[0, 0] = 0")):
        def run(model=model):
            with watch(model):
                model(torch.ones(2, 2, requires_grad=True)).sum().backward()
        report = report_of(run)
        assert f"Source: {source}" in report and f":{line_of(type(model).forward)}, scope {type(model).__name__}, " in report, report


@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_a_result_of_linear_algebra_that_is_masked_is_told_where_its_derivative_needs_it():
    def run():
        with watch():
            y = linalg.inv(torch.ones(2, 2, requires_grad=True), if_ill="nan")
            torch.where(torch.isfinite(y), y, 0.0).sum().backward()
    assert "Source: linalg.inv[0, 0] made nan" in report_of(run)
    with watch() as w:
        assert linalg.inv(torch.ones(2, 2), if_ill="nan").isnan().all()
    assert not w.findings


def test_linear_algebra_raises_at_once_where_that_is_asked_for():
    with pytest.raises(wp.NonFiniteError, match=r"linalg.inv\[0, 0\] made nan"), watch(level="raise"):
        linalg.inv(torch.ones(2, 2), if_ill="nan")
    with pytest.raises(wp.NonFiniteError, match="inv: x"), watch(level="off"):
        linalg.inv(torch.full((2, 2), float("nan")))
