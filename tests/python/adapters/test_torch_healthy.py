"""Models that are well raise nothing: masks, mixed precision, dropout, embeddings, batch norm; and what cannot be looked at passes by."""
import copy
import io
import pickle

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import wellposed as wp
from points import hidden, line_of, notes_of
from wellposed.torch import linalg, watch


class Attention(nn.Module):
    """Causal attention with a mask of −inf, one query that sees nothing, and log of a mask."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 1)

    def forward(self, x, padding):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.mT / 4
        causal = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        scores = scores + causal
        scores = scores.masked_fill(padding[:, None, :], float("-inf"))
        scores = scores + torch.log((~padding[:, None, :]).float())
        weights = torch.nan_to_num(torch.softmax(scores, -1))
        return self.out(weights @ v) + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))


def attention():
    model = Attention()
    x, padding = torch.randn(4, 6, 16), torch.zeros(4, 6, dtype=torch.bool)
    padding[0, 4:] = True
    padding[1, :] = False
    return model, lambda: model(x, padding).square().mean()


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.net(x)


def mixed():
    model, x = Mixed(), torch.randn(16, 32)
    return model, lambda: model(x).float().square().mean()


def dropout():
    model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.5), nn.GELU(), nn.Linear(32, 1))
    x = torch.randn(16, 8)
    return model, lambda: model(x).square().mean()


def embedding():
    model = nn.Sequential(nn.Embedding(50, 8, padding_idx=0), nn.Flatten(), nn.Linear(32, 5), nn.LogSoftmax(-1))
    x, y = torch.randint(0, 50, (16, 4)), torch.randint(0, 5, (16,))
    return model, lambda: F.nll_loss(model(x), y)


def batch_norm():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 4), nn.Softplus())
    x = torch.randn(6, 3, 8, 8)
    return model, lambda: model(x).mean()


HEALTHY = [attention, mixed, dropout, embedding, batch_norm]


@pytest.mark.parametrize("make", HEALTHY)
@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.Adam(p, lr=1e-3), lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9)],
                         ids=["adam", "sgd"])
def test_no_alarm_and_the_same_numbers(make, optimizer):
    torch.manual_seed(0)
    model, loss_of = make()
    twin_state = copy.deepcopy(model.state_dict())

    def train(steps, watched):
        torch.manual_seed(1)
        model.load_state_dict(twin_state)
        opt = optimizer(model.parameters())
        losses = []
        for _ in range(steps):
            opt.zero_grad()
            loss = loss_of()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            losses.append(loss.item())
        return losses
    plain = train(4, False)
    with watch(model, data=None) as w:
        seen = train(4, True)
    assert not w.findings, w.findings
    assert seen == plain  # the same bits
    assert "forward" not in vars(model)


def test_gradients_that_a_scaler_judges_are_its_own_business():
    model = nn.Linear(4, 1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [p.clone() for p in model.parameters()]
    with watch(model) as w:
        scaler.scale(model(torch.full((8, 4), 100.0)).square().mean() * 1e-30).backward(gradient=torch.tensor(1e5))
        scaler.step(optimizer)
        scaler.update()
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))  # it did skip the step
    assert not w.findings


def test_printing_asking_and_given_infinities_raise_nothing():
    x = torch.tensor([1.0, 0.0])
    with watch() as w:
        y = torch.log(x)
        assert "inf" in repr(y) and not torch.isfinite(y).all() and torch.isinf(y).any()
        best = torch.full((3,), float("inf"))
        best = torch.minimum(best, torch.tensor([1.0, 2.0, float("inf")]))
        assert best.max().item() == float("inf")  # given, and taken out as it is
        with pytest.raises(wp.NonFiniteError):
            y.min().item()
    assert "made -inf" in w.report()


@pytest.mark.parametrize("make", [
    lambda: torch.eye(3).to_sparse() * 2, lambda: torch.ones(3, device="meta") / 0, lambda: torch.ones(3, dtype=torch.complex32),
    lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), lambda: torch.ones(3).to(torch.float8_e4m3fn),
    lambda: torch.eye(3).to_sparse_csr()], ids=["sparse", "meta", "complex-half", "quantised", "float8", "csr"])
@pytest.mark.filterwarnings("ignore:.*(Sparse CSR|ComplexHalf|quantize).*")
def test_what_cannot_be_looked_at_passes_untouched_with_one_note(make):
    with watch() as w:
        for _ in range(3):
            y = make()
    outside = make()
    assert type(y) is type(outside) and repr(y) == repr(outside)  # dtype, layout, device and elements
    note, = notes_of(w)
    assert note.startswith("a result is not looked at: ")


class Elsewhere(torch.Tensor):
    """A tensor that says it is on a GPU; its elements come to the CPU when they are copied there."""
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, real):
        return torch.Tensor._make_wrapper_subclass(cls, real.shape, dtype=real.dtype, device="cuda:0")

    def __init__(self, real):
        self.real_one = real

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        home = str(kwargs.pop("device", "")) == "cpu"
        out = function(*(a.real_one if isinstance(a, Elsewhere) else a for a in args), **kwargs)
        return out if home or not isinstance(out, torch.Tensor) else Elsewhere(out)


def test_tensors_on_a_gpu_are_named_and_copied_only_when_asked():
    x = Elsewhere(torch.tensor([1.0, 0.0]))
    with watch() as w:
        torch.log(x)
        torch.log(x)
    assert [f.message for f in w.findings] == ["a result is not looked at: on cuda:0."] and 'device="copy"' in w.findings[0].advice
    with watch(device="copy", level="raise"), pytest.raises(wp.NonFiniteError, match="x\\[1\\] = 0"):
        torch.log(x)
    with watch(device="copy"), pytest.raises(wp.NonFiniteError, match=r"backward: -inf(.|\n)*Source: log\[1\] made -inf of x\[1\] = 0"):
        torch.autograd.backward(torch.log(x) * 2)
    with watch(device="copy") as w:
        y = torch.log(x)
        assert w.blame(y).chain[-1].op == "log"
        assert not w._look(x) and w.notes.of(y) is not None  # of other memory
        y.real_one.zero_()
        assert not w._look(y) and not w.notes  # finite again
    assert not w.findings
    with pytest.raises(wp.ArgumentError, match=r"on cuda:0; wellposed computes on the CPU"):
        linalg.inv(Elsewhere(torch.eye(2)))


def test_what_came_from_a_gpu_is_not_said_to_be_made_by_the_copy():
    x = Elsewhere(torch.tensor([1.0, float("nan")]))
    with watch() as w:
        y = x.cpu()
        blamed = w.blame(y)
    assert blamed.source == "given" and "on cuda:0" in blamed.text() and notes_of(w) == []


def test_trends_of_parameters_that_cannot_be_looked_at_are_passed_by_with_one_note_each():
    model = nn.Linear(2, 1)
    model.odd = nn.Parameter(torch.zeros(2).to(torch.float8_e4m3fn))

    class Skips(torch.optim.Optimizer):
        def step(self):
            pass
    optimizer = Skips([{"params": list(model.parameters())}], {})
    with watch(model, optimizer=optimizer, trends=True) as w:
        for _ in range(3):
            model(torch.ones(4, 2)).sum().backward()
            model.odd.grad = torch.zeros(2).to(torch.float8_e4m3fn)
            optimizer.step()
    assert [n for n in notes_of(w) if "trends" in n] == ["trends of odd are not looked at: float8_e4m3fn."]


def test_a_defect_of_the_adapter_reaches_neither_backward_nor_step(monkeypatch):
    monkeypatch.setattr("wellposed._adapters.session.Session.raises_defects", False)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer=optimizer, trends=True) as w:
        monkeypatch.setattr(type(w), "is_bad", lambda *_: 1 / 0)
        monkeypatch.setattr(type(w), "see_trends", lambda *_: 1 / 0)
        torch.log(torch.zeros(1))  # there is a note now
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
    note, = notes_of(w)
    assert "could not be judged (ZeroDivisionError" in note


def test_an_interface_that_moved_is_named():
    for module in ("torch.utils._python_dispatch", "torch.multiprocessing.reductions"):
        assert f"does not have {module}." in hidden("torch", module)


def test_views_strides_and_expanded_memory_are_looked_at_as_they_are():
    base = torch.zeros(6, 6)
    with watch(level="warn") as w, pytest.warns(wp.NonFiniteWarning):
        part = base.t()[1::2, ::3].exp() / base.t()[1::2, ::3]
        assert part.shape == (3, 2)
    assert "div[0, 0]" in w.report()
    with watch() as w:
        bad = torch.ones(4, 4)
        bad[2, 2] = float("nan")  # outside of what follows
        assert (bad[:2] * 2).sum().item() == 16
        assert torch.ones(1).expand(1000, 1000).exp().sum().item() > 0
    assert not w.findings


def test_levels():
    x = torch.tensor([0.0])
    with pytest.raises(wp.NonFiniteError, match="log"), watch(level="raise"):
        torch.log(x)
    with watch(level="off") as w:
        torch.log(x).item()
    assert not w.findings
    with pytest.raises(wp.ArgumentError, match="level"):
        watch(level="loud")
    with pytest.raises(wp.ArgumentError, match="device"):
        watch(device="gpu")


def test_a_watched_model_can_be_copied_and_pickled():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with watch(model):
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin[0].weight.zero_()
            twin[0].bias.fill_(1.0)
        assert twin(torch.ones(1, 2)).tolist() == [[1.0, 1.0]]
        again = pickle.load(io.BytesIO(pickle.dumps(model)))
        torch.save(model, io.BytesIO())
    x = torch.ones(1, 2)
    assert torch.equal(again(x), model(x)) and "forward" not in vars(model)


def test_an_inf_that_in_place_ops_make_is_named():
    x = torch.full((3,), 1e38)
    with watch(level="raise"), pytest.raises(wp.NonFiniteError) as caught:
        x.mul_(100)
    assert "mul_" in str(caught.value)


def test_a_mask_is_learned_and_a_nan_in_the_same_place_is_still_found():
    mask = torch.tensor([0.0, float("-inf")])

    def masked(x):
        return torch.softmax(x + mask, 0)
    with watch() as w:
        for _ in range(10):
            masked(torch.ones(2)).sum().item()
        assert w._masks and max(count for count, _ in w._masks.values()) == 3  # judged three times, then known
        with pytest.raises(wp.NonFiniteError, match="Source: log"):
            masked(torch.log(torch.tensor([-1.0, 1.0]))).sum().item()


def test_memory_that_is_used_again_carries_no_blame():
    with watch() as w:
        for _ in range(50):  # the allocator gives the same block again
            torch.log(torch.zeros(1000))
            fresh = torch.from_numpy(numpy.full(1000, numpy.nan, numpy.float32)).clone()
            assert w.blame(fresh).source == "given"


def test_errors_of_the_model_come_through_unchanged():
    class Broken(nn.Module):
        def forward(self, x):
            return x @ torch.ones(7, 7)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), watch(Broken()) as w:
        w.model(torch.ones(2, 2))


def test_double_backward_and_functional_transforms_pass():
    with watch() as w:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        g, = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        h, = torch.autograd.grad(g.sum(), x)
        assert h.tolist() == [6.0, 12.0]
        assert torch.func.vmap(torch.func.grad(lambda t: t.sin()))(torch.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    assert not w.findings


def test_zeros_without_memory_of_forward_mode_pass_and_derive():
    zero = torch._efficientzerotensor(3)
    with pytest.raises(ValueError, match="no memory"):
        wp.asarray(zero)
    a = 2 * torch.eye(2, dtype=torch.float64)
    with watch(level="raise") as w:
        zero * 2
        h = torch.func.hessian(lambda x: nn.functional.linear(x[None], a, a[0]).square().sum())(torch.ones(2, dtype=torch.float64))
        assert torch.equal(h, 2 * a.mT @ a)
        one, h = torch.eye(2, dtype=torch.float64), torch.func.hessian(linalg.logdet)(a)  # d² log det along symmetric X, Y at 2I is −tr(X Y)/4
        assert torch.allclose(h, -(torch.einsum("il,jk->ijkl", one, one) + torch.einsum("ik,jl->ijkl", one, one)) / 8)
    assert set(notes_of(w)) <= {"a result is not looked at: a meta tensor has no elements."}


def test_gradients_of_tensors_that_are_no_parameters_are_looked_at_too():
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    with pytest.raises(wp.NonFiniteError, match=r"gradient of a tensor of shape \[2\]: nan(.|\n)*in the derivative of sqrt\[1\]"), watch():
        torch.where(x > 0, torch.sqrt(x), 0.0).sum().backward()
    x.grad = None
    with watch() as w:
        torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1.0)), 0.0).sum().backward()
    assert not w.findings


def test_a_compiled_model_runs_op_by_op_while_it_is_watched_and_compiled_again_after(capfd):
    class Logs(nn.Module):
        def forward(self, x):
            return torch.log(x)  # here
    model = nn.Sequential(nn.Linear(2, 2), Logs())
    with torch.no_grad():
        model[0].weight.zero_(), model[0].bias.zero_()
    graphs = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward
    compiled = torch.compile(model, backend=backend)
    compiled(torch.ones(3, 2))
    before = len(graphs)
    with pytest.raises(wp.NonFiniteError) as caught, watch(model):
        compiled(torch.ones(3, 2)).sum().backward()
    text = str(caught.value)
    assert "log[0, 0] made -inf of x[0, 0] = 0" in text and "scope Sequential.1" in text and f":{line_of(Logs)}," in text
    assert before == 1 and len(graphs) == before
    compiled(torch.ones(3, 2))
    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    assert len(graphs) > before and "StorageWeakRef" not in capfd.readouterr().err


def test_what_is_compiled_inside_of_the_block_is_watched_in_silence(capfd):
    with pytest.raises(wp.NonFiniteError, match="Source: log"), watch():
        torch.compile(lambda x: torch.log(x).sum(), backend="aot_eager")(torch.zeros(2, requires_grad=True)).backward()
    assert "Exception ignored" not in capfd.readouterr().err


def test_blame_of_a_tensor_and_its_page(tmp_path):
    with watch() as w:
        y = torch.log(torch.tensor([[1.0, 0.0]])).sum()
        b = w.blame(y)
        assert b.source == "op" and b.chain[-1].op == "log" and b.chain[-1].element == (0, 1)
        b.html(str(tmp_path / "page.html"))
        with pytest.raises(wp.ArgumentError):
            w.blame(torch.ones(1))
    assert "log" in (tmp_path / "page.html").read_text() and y.isinf()
