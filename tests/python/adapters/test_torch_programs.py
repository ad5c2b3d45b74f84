"""The eight buggy programs of examples/crash_hunt, written in PyTorch: what the reports name."""
import textwrap

import numpy as np
import pytest
import torch
from torch import nn

import wellposed as wp
from points import check, killed, line_of, report_of
from wellposed.torch import watch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


# ---- log of zero, three layers before the loss
class LogNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        features = torch.log(x) - torch.log(x + 1)  # here
        return torch.tanh(self.second(torch.tanh(self.first(features * torch.tensor([0.0, 1.0, 0.0, 1.0])))))


def log_of_zero():
    model = LogNet()
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 0.0, 8.0]])
    with watch(model):
        model(x).mean().backward()


def test_log_of_zero():
    report = report_of(log_of_zero)
    missing = check(report, op=r"Source: log\[", scope="scope LogNet", line=line_of(LogNet.forward), file=__file__, element=r"log\[1, 2\]",
                    operands=r"x\[1, 2\] = 0", origin=r"made -inf")
    assert not missing, report


# ---- zero by zero in one row of one batch
class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(5, 1)

    def forward(self, counts):
        return self.weigh(counts / counts.sum(1, keepdim=True))  # here


def zero_by_zero():
    counts = torch.floor(torch.rand(64, 5) * 4) + 1
    counts[41] = 0
    model, order = Shares(), torch.randperm(64)
    with watch(model, data={"counts": counts}):
        for b in range(4):
            model(counts[order[16 * b:16 * b + 16]]).mean().backward()


def test_zero_by_zero():
    report = report_of(zero_by_zero)
    missing = check(report, op=r"Source: div\[", scope="scope Shares", line=line_of(Shares.forward), file=__file__, element=r"div\[\d+, 0\]",
                    operands=r"x1\[\d+, 0\] = 0, x2\[\d+, 0\] = 0", origin=r"It rests on counts row 41\.")
    assert not missing, report


# ---- a masked branch: the forward pass is fine, the way back is 0/0
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 0.0, 4.0]))

    def forward(self):
        y = torch.log(self.w)  # here
        return torch.where(self.w > 0, y, 0.0).sum()


def masked_branch():
    model = Masked()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model):
        model().backward()
        optimizer.step()


def test_masked_branch():
    report = report_of(masked_branch)
    missing = check(report, op=r"Source: div in the derivative of log\[", scope="scope Masked", line=line_of(Masked.forward), file=__file__,
                    element=r"log\[1\]", operands=r"x1\[1\] = 0, x2\[1\] = 0", origin="made nan")
    assert not missing, report


def test_masked_branch_is_silent_where_only_the_forward_pass_is_used():
    model = Masked()
    with watch(model) as w, torch.no_grad():
        assert model().item() == pytest.approx(np.log(4.0))
    assert not w.findings


# ---- divergence: told long before the overflow, and the overflow is named
class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 1))

    def forward(self, x, y):
        return ((x @ self.w - y) ** 2).mean()  # here


def divergence(found):
    model = Line()
    x, y = torch.randn(64, 8), torch.randn(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.1)
    with watch(model, optimizer=optimizer, trends=True) as w:
        found.append(w)
        for _ in range(400):
            optimizer.zero_grad()
            model(x, y).backward()
            optimizer.step()


@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_divergence():
    found = []
    report = report_of(lambda: divergence(found))
    missing = check(report, op=r"Source: (pow|mean)", scope="scope Line", line=line_of(Line.forward), file=__file__, element=r"\[\d+, 0\]",
                    operands=r"= -?\d\.\d+e\+\d\d", origin="made inf")  # the square, or the sum of squares that each have one
    assert not missing, report
    trends = [f for f in found[0].findings if f.code == "WP-TRD-001"]
    assert trends and trends[0].step < 20 and "grows by a factor" in trends[0].message


# ---- one bad row in ten thousand
class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 1)

    def forward(self, x):
        return self.linear(x - x.mean(1, keepdim=True))  # here


def bad_data():
    data = torch.randn(10000, 6)
    data[7311, 4] = float("nan")
    return torch.utils.data.TensorDataset(data, torch.randn(10000, 1))


@pytest.mark.parametrize("how", ["data=loader", "w.batches", "data=tensor"])
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_bad_row(how):
    dataset, model = bad_data(), Regression()
    loader = torch.utils.data.DataLoader(dataset, batch_size=100, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = {"data=loader": loader, "w.batches": None, "data=tensor": dataset.tensors[0]}[how]
    with watch(model, data=data, optimizer=optimizer, guard=True) as w:
        for x, y in w.batches(loader) if how == "w.batches" else loader:
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
    assert type(loader) is torch.utils.data.DataLoader
    report = w.report()
    missing = check(report, op=r"first read by (sub|mean)", scope="scope Regression", line=line_of(Regression.forward), file=__file__,
                    element="column 4", operands="= nan", origin="data row 7311")
    assert not missing, report
    assert w.refused == 1 and all(p.isfinite().all() for p in model.parameters())


# ---- exp overflows for one large logit
class Softmax(nn.Module):
    def forward(self, logits):
        e = torch.exp(logits)  # here
        return e / e.sum(-1, keepdim=True)


def exp_overflow():
    x = torch.randn(32, 4)
    x[17, 2] = 900
    with watch(Softmax(), data={"features": x}) as w:
        p = w.model(w.rows(x @ torch.eye(4), range(32), "features"))
        p.max().item()


def test_exp_overflow():
    report = report_of(exp_overflow)
    missing = check(report, op=r"Source: exp\[", scope="scope Softmax", line=line_of(Softmax.forward), file=__file__, element=r"exp\[17, 2\]",
                    operands=r"x\[17, 2\] = 900", origin="features row 17")
    assert not missing, report
    assert "Subtract the largest x first" in report


# ---- an index out of range
class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 8)

    def forward(self, tokens):
        return self.table(tokens)  # here


def test_index_out_of_range():
    tokens = torch.tensor([[3, 17, 999, 4], [12, 8, 5, 6], [2, 1000, 7, 9]])
    model = Embedding()
    with pytest.raises(IndexError) as caught, watch(model, data={"tokens": tokens}):
        model(tokens[torch.tensor([2, 0])])
    report = "\n".join(caught.value.__notes__)
    missing = check(report, op="embedding", scope=r"scope Embedding\.table", line=line_of(Embedding.forward), file=__file__,
                    element=r"indices\[0, 1\]", operands=r"= 1000 .* length 1000", origin="tokens row 2, column 1 = 1000")
    assert not missing, report


# ---- killed in training
KILLED = textwrap.dedent("""
    import os, signal, sys, torch
    from torch import nn
    from wellposed.torch import watch
    model = nn.Sequential(nn.Linear(16, 4), nn.Tanh())
    data = torch.randn(512, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    @torch.library.custom_op("train::augment", mutates_args=())
    def augment(x: torch.Tensor) -> torch.Tensor:
        os.kill(os.getpid(), signal.SIGKILL)
        return x.clone()
    with watch(model, data=data, record=sys.argv[1]) as w:
        for step in range(8):
            x = w.rows(data[64 * step:64 * step + 64], range(64 * step, 64 * step + 64))
            if step == 7:
                model[0].register_forward_pre_hook(lambda *a: (augment(a[1][0]),))  # here
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    """)


def test_killed_in_training(tmp_path):
    report, line = killed(KILLED, tmp_path)
    missing = check(report, op="The call in flight\n  augment", scope=r"in Sequential", line=line, file="train.py", element="rows 448 to 511",
                    operands=r"f32 \[64, 16\], 8 sampled in", origin="killed without a word")
    assert not missing, report
    assert "step 7" in report
