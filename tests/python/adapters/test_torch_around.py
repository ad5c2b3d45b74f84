"""What stands around a model in a program, and goes on as it is: DataLoaders of every kind, schedulers, exports, the ends of blocks."""
import inspect
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import wellposed as wp
from points import notes_of
from wellposed import _core
from wellposed.torch import watch


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(10.0).reshape(10, 1))


class Named(Dataset):
    """Rows by name; the fifth is spoilt, in the depth of what a row is."""

    def __len__(self):
        return 8

    def __getitem__(self, key):
        k = int(str(key).removeprefix("row "))
        return {"in": {"x": torch.full((3,), float("nan") if k == 5 else 1.0)}, "name": str(k)}


@pytest.mark.parametrize("make, note", [
    (lambda: DataLoader(Stream(), batch_size=4), "a sampler that draws no integers"),
    (lambda: DataLoader(Named(), batch_size=4, sampler=[f"row {k}" for k in range(8)]), "a sampler that draws no integers"),
    (lambda: DataLoader(TensorDataset(torch.ones(6, 1)), batch_size=None), "without a batch sampler"),
    (lambda: DataLoader(TensorDataset(torch.ones(6, 1)), num_workers=1, in_order=False), "out of order")], ids=["stream", "keys", "single", "out of order"])
@pytest.mark.parametrize("how", ["data=", "w.batches"])
def test_a_loader_without_row_numbers_gives_its_batches_with_one_note(make, note, how):
    loader = make()
    count = sum(1 for _ in loader)
    with watch(data=loader if how == "data=" else None) as w:
        for _ in range(2):
            assert sum(1 for _ in (loader if how == "data=" else w.batches(loader))) == count
    said, = notes_of(w)
    assert note in said and type(loader) is DataLoader


def row_told(loader, epochs=3):
    """The report of a run over several epochs, of which the last has a bad row."""
    dataset, model = loader.dataset, nn.Linear(3, 1)
    with watch(model, data=loader):
        for epoch in range(epochs):
            if epoch == epochs - 1:
                dataset.tensors[0][137, 1] = float("nan")
            for x, in loader:
                model(x).sum().backward()


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], ids=["plain", "workers", "persistent"])
def test_rows_are_told_in_every_epoch_also_of_workers(options):
    x = torch.ones(200, 3).share_memory_()
    loader = DataLoader(TensorDataset(x), batch_size=8, shuffle=True, **options)
    with pytest.raises(wp.NonFiniteError, match="data row 137, column 1"):
        row_told(loader)
    assert sum(len(b) for b, in loader) == 200  # and it goes on afterwards


def test_rows_are_told_in_the_depth_of_a_batch():
    loader, model = DataLoader(Named(), batch_size=2, shuffle=True), nn.Linear(3, 1)
    with pytest.raises(wp.NonFiniteError, match="data row 5, column 0"), watch(model, data=loader):
        for batch in loader:
            model(batch["in"]["x"]).sum().backward()


def test_a_loader_is_as_it_was_whatever_became_of_its_iterators():
    loader = DataLoader(TensorDataset(torch.ones(20, 3)), batch_size=4)
    sampler = loader.batch_sampler
    with watch(data=loader), watch(data=loader):
        assert sum(1 for _ in zip(loader, loader)) == 5
        for _ in loader:
            break
        left = iter(loader)
        next(left)
    assert loader.batch_sampler is sampler and type(loader) is DataLoader and len(list(left)) == 4


def test_a_block_that_cannot_begin_leaves_nothing_behind():
    model, step, backward = nn.Linear(2, 2), _core.current_step(), torch.autograd.backward
    for data in (5, {"x": [1, 2]}):
        with pytest.raises(wp.ArgumentError, match="data must be"), watch(model, data=data):
            pass
    with pytest.raises(wp.FileError, match="cannot be created"), watch(model, record="/nowhere/run.wpr"):
        pass
    assert "forward" not in vars(model) and _core.current_step() == step and torch.autograd.backward is backward


@pytest.mark.parametrize("inside", [False, True], ids=["before", "inside"])
def test_a_scheduler_and_a_guard_bear_each_other(inside):
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = None if inside else torch.optim.lr_scheduler.StepLR(optimizer, 1)

    def step():
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with watch(model, optimizer=optimizer, guard=True) as w:
            schedule = schedule or torch.optim.lr_scheduler.StepLR(optimizer, 1)
            step()
        step()
    model.weight.grad.fill_(float("nan"))
    optimizer.step()  # unguarded
    assert w.refused == 0 and model.weight.isnan().all() and schedule.get_last_lr() != [0.1]


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_forward_functions_can_be_read_exported_and_scripted_in_the_block():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x, twice: bool = False):
            return self.linear(x).relu()
    model, x = Net(), torch.ones(2, 4)
    plain, export = inspect.getfullargspec(model.forward), torch.export.export
    with watch(model) as w:
        assert inspect.getfullargspec(model.forward) == plain and model.forward.__code__ is Net.forward.__code__
        for strict in (False, True):
            assert torch.equal(torch.export.export(model, (x,), strict=strict).module()(x), model(x))
        for read in (lambda m: torch.jit.trace(m, (x,)), torch.jit.script, torch.fx.symbolic_trace):
            assert torch.equal(read(model)(x), model(x))
        assert "forward" in vars(model)
    assert set(notes_of(w)) <= {"a result is not looked at: a tensor of the class FakeTensor."}
    assert torch.export.export is export and "forward" not in vars(model)


def test_a_forward_function_that_the_program_sets_in_the_block_stays():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with watch(model):
        model[1].forward = lambda x: x + 1
    assert model[1](torch.zeros(1)).item() == 1 and "forward" not in vars(model) and "forward" not in vars(model[0])


def test_other_threads_are_left_alone():
    found = []

    def elsewhere():
        x = torch.zeros(2, requires_grad=True)
        y = torch.log(x).sum()
        y.backward()
        torch.optim.SGD([x], 0.1).step()
        found.append(y.item())
    with watch() as w:
        torch.log(torch.zeros(2))
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [float("-inf")] and not w.findings


def test_errors_of_the_program_come_through_as_the_same_objects():
    class Mine(Exception):
        pass
    error, model = Mine("x", 3), nn.Linear(1, 1)

    def fails(*_):
        raise error

    def in_a_gradient():
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        y.register_hook(fails)
        y.sum().backward()

    def in_a_module():
        hook = model.register_forward_hook(fails)
        try:
            model(torch.ones(1, 1))
        finally:
            hook.remove()
    backward = torch.autograd.backward
    for program in (fails, in_a_gradient, in_a_module):
        with pytest.raises(Mine) as caught, watch(model):
            program()
        assert caught.value is error and not hasattr(error, "__notes__") and error.__cause__ is None
    assert torch.autograd.backward is backward and "forward" not in vars(model)


def test_errors_of_linear_algebra_get_a_note_that_names_the_matrix():
    with pytest.raises(torch.linalg.LinAlgError) as caught, watch():
        torch.linalg.inv(torch.zeros(3, 2, 2))
    note = "\n".join(caught.value.__notes__)
    assert "singular" in note and "matrix 0" in note, note
