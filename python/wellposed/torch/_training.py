"""Around a training step: where values leave (backward, optimizers), the guard, trends, errors explained."""
import functools
import sys
import threading
import types
import weakref

import torch

import wellposed as wp

from .. import cuda
from .._adapters.session import version_guard
from ._arrays import reason_hidden, tensors_in, to_wp

_before_steps, _after_steps, _no_dispatch = version_guard("torch", torch.__version__, "2.10", [
    "torch.optim.optimizer:register_optimizer_step_pre_hook", "torch.optim.optimizer:register_optimizer_step_post_hook", "torch:_C._DisableTorchDispatch"])


class Training:
    def __init__(self, watch, optimizer, guard):
        self.watch, self.optimizer, self.guard = watch, optimizer, guard
        if guard and optimizer is None:
            raise wp.ArgumentError("watch: guard=True needs the optimizer whose updates it guards: watch(model, optimizer=…, guard=True).")
        self.at_end, self._inputs = [], {}  # at_end: what undoes the watch
        self._scaler, self.scale = None, 1.0  # what scales the loss (a weak reference), and by how much

    def begin(self):
        w = self.watch
        if "torch._dynamo" in sys.modules:  # what was compiled runs op by op meanwhile: its ops, lines and modules are those of the program
            stance = torch.compiler.set_stance("force_eager")
            stance.__enter__()
            self.at_end.append(lambda: stance.__exit__(None, None, None))
        backward, grad, thread = torch.autograd.backward, torch.autograd.grad, threading.get_ident()

        def here(function, *arguments):
            """Calls it in the thread whose ops are seen."""
            if threading.get_ident() == thread:
                w.guarded(function, *arguments)

        def watched_backward(tensors, *args, **kwargs):
            here(self._leaves, tensors, "backward")
            backward(tensors, *args, **kwargs)
            here(self._inputs_of, tensors)

        def watched_grad(outputs, *args, **kwargs):
            here(self._leaves, outputs, "grad")
            return grad(outputs, *args, **kwargs)
        plain_scale = torch.amp.GradScaler.scale

        @functools.wraps(plain_scale)
        def scale(scaler, outputs):
            here(lambda: setattr(self, "_scaler", weakref.ref(scaler)))
            return plain_scale(scaler, outputs)
        torch.amp.GradScaler.scale = scale
        self.at_end.append(lambda: setattr(torch.amp.GradScaler, "scale", plain_scale))
        torch.autograd.backward, torch.autograd.grad = watched_backward, watched_grad
        self.at_end.append(lambda: (setattr(torch.autograd, "backward", backward), setattr(torch.autograd, "grad", grad)))
        before = _before_steps(lambda optimizer, *_: here(self._before_step, optimizer))
        after = _after_steps(lambda *_: here(w.next_step))
        self.at_end += [before.remove, after.remove]
        for owner, name in ((torch.export, "export"), (torch.jit, "script")):  # they read the code of modules, not of what stands in for it
            self._outside(owner, name)
        if self.guard:
            self._guard()

    def _outside(self, owner, name):
        """owner.name runs on the modules as they are without the watch."""
        plain = getattr(owner, name)

        @functools.wraps(plain)
        def outside(*args, **kwargs):
            with self.watch.unwrapped():
                return plain(*args, **kwargs)
        setattr(owner, name, outside)
        self.at_end.append(lambda: setattr(owner, name, plain))

    def end(self):
        for undo in reversed(self.at_end):
            undo()
        self.at_end = []

    # ---- where values leave -------------------------------------------------------------------------------------------
    def _leaves(self, tensors, sink):
        w = self.watch
        if not w.notes or w.level == "off" or self.guard:
            return
        for x in tensors_in(tensors):
            if w.is_bad(x):
                w.escaped(w.note_of(x), sink)

    def _inputs_of(self, tensors):
        """Keeps the tensors whose gradients backward() has left, if something went wrong: those that are no parameters are known only now."""
        if not self.watch.notes:
            return
        seen, todo = set(), [x.grad_fn for x in tensors_in(tensors)]
        while todo:
            node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if hasattr(node, "variable"):
                self._inputs[id(node.variable)] = weakref.ref(node.variable)
            todo += [following for following, _ in node.next_functions]

    def inputs(self):
        """(name, tensor) of what is differentiated for and is no parameter."""
        for x in (kept() for kept in self._inputs.values()):
            if x is not None and id(x) not in self.watch._parameters:
                yield f"a tensor of shape {list(x.shape)}", x

    def _gradients(self, optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield p, p.grad

    def _first_bad(self, optimizer):
        w = self.watch
        if not w.notes:
            return None
        return next(((p, g) for p, g in self._gradients(optimizer) if w.is_bad(g)), None)

    def gradient_leaves(self, gradient, name, scale=1.0):
        """A gradient that is not finite is used; of a scaled loss it is told unless a smaller scale may cure it. Returns whether it is told."""
        w, name = self.watch, f"gradient of {name}"
        note = w.note_of(gradient, name)
        if note.owed_to_scale(scale):
            return False
        if self.guard:
            w.refuse(note, name)
        else:
            w.escaped(note, name)
        return True

    def judge_scaled(self, gradients, inverse):
        """A GradScaler looks for what is not finite, to leave the step out."""
        w, scaler = self.watch, self._scaler and self._scaler()
        if not w.notes or w.level == "off":
            return
        self.scale = scaler.get_scale() if scaler is not None else 1 / float(inverse)  # an optimizer that unscales by itself is given 1 here
        wrong = [g for g in gradients if w.is_bad(g)]
        names = {p.grad.data_ptr(): name for name, p in w.model.named_parameters() if p.grad is not None} if wrong and w.model is not None else {}
        for g in wrong:
            if self.gradient_leaves(g, names.get(g.data_ptr(), "a parameter"), self.scale):
                return

    def _before_step(self, optimizer):
        w = self.watch
        if w.trends is not None and (self.optimizer is None or optimizer is self.optimizer):
            with _no_dispatch():
                w.see_trends(self._trends_of(optimizer))
        if w.level == "off" or getattr(optimizer, "found_inf", None) is not None:  # an optimizer that leaves out what its scaler has judged
            return
        found = self._first_bad(optimizer)
        if found is not None:
            self.gradient_leaves(found[1], w._parameters.get(id(found[0]), "a parameter"))

    def _trends_of(self, optimizer):
        for k, (p, g) in enumerate(self._gradients(optimizer)):
            name = self.watch._parameters.get(id(p), f"parameter {k}")
            reason = reason_hidden(p) or reason_hidden(g) or (f"on {p.device}" if p.device.type != "cpu" else None)
            if reason is None:
                yield name, to_wp(p), to_wp(g)
            else:
                self.watch.pass_by(f"trends of {name} are not looked at: {reason}.")

    def _guard(self):
        """optimizer.step is passed over while a gradient is not finite. It stays a method: schedulers of learning rates take it apart, and wrap it."""
        optimizer, step, own = self.optimizer, self.optimizer.step, "step" in vars(self.optimizer)
        ended = []

        @functools.wraps(step)
        def guarded(_, *args, **kwargs):
            judged = ended or getattr(optimizer, "found_inf", None) is not None  # by a scaler
            found = None if judged else self.watch.guarded(self._first_bad, optimizer)
            if found is None:
                return step(*args, **kwargs)
            self.gradient_leaves(found[1], self.watch._parameters.get(id(found[0]), "a parameter"))
            self.watch.next_step()
            return None
        ours = optimizer.step = types.MethodType(guarded, optimizer)

        def undo():
            ended.append(True)
            if vars(optimizer).get("step") is ours:
                setattr(optimizer, "step", step) if own else vars(optimizer).pop("step")
        self.at_end.append(undo)

    # ---- errors -------------------------------------------------------------------------------------------------------
    def explain_failure(self, function, args, kwargs, error):
        """Adds to an error of PyTorch what is known of its operands."""
        w = self.watch
        name, where = w._where(function._schema.name.rpartition("::")[2])
        lines = []
        if name.split(" ")[0] in ("embedding", "index_select", "index", "gather", "take", "nll_loss_forward", "cross_entropy_loss"):
            lines += self._bad_index(name.split(" ")[0], args)
        told = cuda.explain(str(error))
        if told is not None:
            lines.append(told.text())
        if not lines:
            return
        place = f"{where['file'].rpartition('/')[2]}:{where['line']}" + (f", scope {where['scope']}" if where["scope"] else "")
        error.add_note("\n".join([f"wellposed: {name} at {place}, step {where['step']}", *("  " + line for line in lines)]))

    def _bad_index(self, name, args):
        tensors = [x for x in tensors_in(list(args))]
        indices = next((x for x in tensors[1:] if not x.dtype.is_floating_point and x.dtype is not torch.bool), None)
        if indices is None or not tensors:
            return []
        axis = args[1] if name == "index_select" else 1 if name == "nll_loss_forward" else 0
        length = tensors[0].shape[axis]
        low = 0 if name in ("embedding", "nll_loss_forward", "index_select", "gather") else -length
        wrong = ((indices < low) | (indices >= length)).nonzero()
        if not len(wrong):
            return []
        at = tuple(wrong[0].tolist())
        said = [f"indices{list(at)} = {int(indices[at])} is out of range for axis {axis}, which has length {length}; it must be from {low} to {length - 1}."]
        found = self.watch.entrance(indices, at)
        if found.get("source") == "data":
            where = f", column {found['entry'][0]}" if len(found["entry"]) == 1 else f", entry {list(found['entry'])}" if found["entry"] else ""
            said.append(f"Source: {found['name']} row {found['row']}{where} = {int(indices[at])}")
        return said
