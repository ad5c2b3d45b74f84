#!/usr/bin/env python3
"""What watching costs: training steps with and without, alternating in one process, processor time of the process; medians of paired ratios.

    PYTHONPATH=build/release/python .bench-venv/bin/python benchmarks/adapters/watch.py [torch|tensorflow|jax|linalg …] [--rounds 24] [--json FILE]

off/off is the same program against itself: the noise of the machine.
"""
import argparse
import json
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
for _name in ("OMP_NUM_THREADS", "WELLPOSED_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ.setdefault(_name, "1")
import numpy as np


def timed(step, count):
    start = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - start) / count


def paired(off, on, rounds, count):
    off(), on()
    return compared(lambda: timed(off, count), lambda: timed(on, count), rounds)


def compared(off, on, rounds):
    """Times of off and on in turn: medians of on/off and of off/off, and a 90 % range of the former."""
    ratios, noise = [], []
    for _ in range(rounds):
        a, b, c = off(), on(), off()
        ratios.append(2 * b / (a + c))
        noise.append(c / a)
    ratios.sort()
    k = max(1, rounds // 20)
    return {"ratio": statistics.median(ratios), "low": ratios[k], "high": ratios[-1 - k], "off/off": statistics.median(noise), "µs off": a * 1e6}


def torch_step(width, batch, layers=8):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(m for _ in range(layers) for m in (torch.nn.Linear(width, width), torch.nn.Tanh())))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(batch, width), torch.randn(batch, width)

    def step():
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
    return model, step


def attention_step():
    """Two layers of causal attention with a mask of −inf, as people write it."""
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = torch.nn.Linear(256, 768), torch.nn.Linear(256, 256)

        def forward(self, x):
            q, k, v = (t.reshape(4, 128, 8, 32).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            scores = (q @ k.mT / 32**0.5).masked_fill(torch.ones(128, 128, dtype=torch.bool).triu(1), float("-inf"))
            return self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(4, 128, 256))
    model, x = torch.nn.Sequential(Attention(), Attention()), torch.randn(4, 128, 256)
    return model, lambda: model(x).square().mean().backward()


def torch_rows(rounds):
    import tempfile
    from wellposed.torch import watch
    model, step = attention_step()

    def attending():
        with watch(model):
            for _ in range(4):
                step()  # a mask is judged three times, then known
            return timed(step, 4)
    step()
    yield "torch, 2 layers of masked attention, 4 × 128 × 256", None, compared(lambda: timed(step, 4), attending, rounds)
    for width, batch, count, goal in ((512, 64, 4, 1.3), (8, 8, 60, 3.0)):
        model, step = torch_step(width, batch)

        def watched():
            with watch(model):
                for _ in range(count):
                    step()

        def plain():
            for _ in range(count):
                step()
        yield f"torch, {width}×{width} layers, batch {batch}", goal, paired(plain, watched, rounds, 1)
        with tempfile.TemporaryDirectory() as folder:
            def recorded():
                with watch(model, record=os.path.join(folder, "run.wpr")):
                    for _ in range(count):
                        step()
            yield f"torch, {width}×{width} layers, with a recording", None, paired(plain, recorded, max(4, rounds // 4), 1)


def tensorflow_rows(rounds):
    import tensorflow as tf
    from wellposed.tensorflow import watch
    rng = np.random.default_rng(0)
    for width, batch in ((64, 64), (512, 64)):
        weights = [tf.Variable(rng.normal(size=(width, width)).astype("float32") / width**0.5) for _ in range(4)]
        x, y = (tf.constant(rng.normal(size=(batch, width)).astype("float32")) for _ in range(2))

        def step():
            with tf.GradientTape() as tape:
                h = x
                for w in weights:
                    h = tf.tanh(h @ w)
                loss = tf.reduce_mean(tf.square(h - y))
            for w, g in zip(weights, tape.gradient(loss, weights)):
                w.assign_sub(1e-3 * g)
            return loss
        for name, run in (("eager", step), ("tf.function", tf.function(step))):
            run()
            count = 6 if name == "eager" else 60

            def watched():
                with watch():
                    for _ in range(count):
                        run()

            def plain():
                for _ in range(count):
                    run()
            yield f"TensorFlow {name}, 4 layers {width}×{width}, batch {batch}", 1.5, paired(plain, watched, rounds, 1)


def jax_rows(rounds):
    import jax
    import jax.numpy as jnp
    from wellposed.jax import watch
    for width in (64, 512):
        w = [jax.random.normal(jax.random.PRNGKey(i), (width, width)) / width**0.5 for i in range(4)]
        x = jax.random.normal(jax.random.PRNGKey(9), (64, width))

        def loss(w, x):
            for m in w:
                x = jnp.tanh(x @ m)
            return jnp.square(x).mean()
        for name, f in (("un-jitted", jax.value_and_grad(loss)), ("jitted", jax.jit(jax.value_and_grad(loss)))):
            watched = watch(f)
            yield (f"JAX {name}, 4 layers {width}×{width}", 1.5 if name == "un-jitted" else None,
                   paired(lambda: jax.block_until_ready(f(w, x)), lambda: jax.block_until_ready(watched(w, x)), rounds, 8))


# name: (function of a namespace of linear algebra, whether its matrices are symmetric)
CALLS = {"inv": (lambda la, a: la.inv(a), False), "solve": (lambda la, a: la.solve(a, a), False), "svdvals": (lambda la, a: la.svdvals(a), False),
         "svd": (lambda la, a: la.svd(a, full_matrices=False), False), "cholesky": (lambda la, a: la.cholesky(a), True),
         "eigvalsh": (lambda la, a: la.eigvalsh(a, uplo="lower"), True), "eigh": (lambda la, a: la.eigh(a, uplo="lower"), True)}


def gradients_of(call, a, wp, torch, tf, jax, spaces):
    """The gradient of the first result along a cotangent of ones that is there: a sum and its gradient would be the framework's own."""
    def first(la, a):
        y = call(la, a)
        return y[0] if isinstance(y, tuple) else y
    ones = np.ones(first(wp.linalg, wp.asarray(a)).shape, a.dtype)
    g, g_torch, g_tensorflow, g_jax = wp.asarray(ones) + 0, torch.from_numpy(ones), tf.constant(ones), jax.numpy.asarray(ones)

    def ours(a):
        with wp.GradientTape() as tape:
            tape.watch(a)
            y = first(wp.linalg, a)
        return tape.gradient(y, a, output_gradients=g)

    def in_torch(a):
        a = a.detach().requires_grad_()
        return torch.autograd.grad(first(spaces["torch"], a), a, g_torch)

    def in_tensorflow(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = first(spaces["TensorFlow"], a)
        return tape.gradient(y, a, output_gradients=g_tensorflow)
    compiled = jax.jit(lambda a, g: jax.vjp(lambda x: first(spaces["JAX, jitted"], x), a)[1](g)[0])
    return ours, in_torch, in_tensorflow, lambda a: compiled(a, g_jax)


def linalg_rows(rounds):
    """Rate through the adapters by the rate of wellposed itself on the same matrices."""
    import jax
    jax.config.update("jax_enable_x64", True)
    import tensorflow as tf
    import torch
    import wellposed as wp
    from wellposed.jax import linalg as jl
    from wellposed.tensorflow import linalg as fl
    from wellposed.torch import linalg as tl
    spaces = {"torch": tl, "TensorFlow": fl, "JAX, jitted": jl}
    for n, dtype in ((4, "float64"), (8, "float64"), (4, "float32"), (8, "float32")):
        x = np.random.default_rng(0).normal(size=(10000, n, n))
        for name, (call, symmetric) in CALLS.items():
            a = (x @ np.swapaxes(x, -1, -2) + n * np.eye(n) if symmetric else x + n * np.eye(n)).astype(dtype)
            arrays = [wp.asarray(a) + 0, torch.from_numpy(a), tf.constant(a), jax.numpy.asarray(a)]
            jitted = jax.jit(lambda m, call=call: call(jl, m))
            forward = [lambda m: call(wp.linalg, m), lambda m: call(tl, m), lambda m: call(fl, m), jitted, tf.function(lambda m, call=call: call(fl, m)),
                       torch.func.vmap(lambda m, call=call: call(tl, m)), lambda m: call(jl, m)]
            for words, functions in (("", forward), ("the gradient of ", gradients_of(call, a, wp, torch, tf, jax, spaces))):
                if words and (dtype == "float32" or name not in ("inv", "solve", "svdvals", "cholesky", "eigvalsh")):
                    continue
                for way, k, run in zip((*spaces, "tf.function", "torch.func.vmap", "JAX, un-jitted"), (1, 2, 3, 2, 1, 3), functions[1:]):
                    done = jax.block_until_ready if k == 3 else lambda y: y
                    found = paired(lambda: functions[0](arrays[0]), lambda: done(run(arrays[k])), rounds, 4)
                    yield f"{words}{name}, 10000 {n}×{n} {dtype}, {way}", 1 / 0.8, {**found, "rate kept": 1 / found["ratio"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["torch", "tensorflow", "jax", "linalg"])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = []
    for what in options.what:
        for name, goal, found in globals()[f"{what}_rows"](options.rounds):
            rows.append({"name": name, "goal": goal, **found})
            print(f"{name:58} × {found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]" + (f"  goal ≤ {goal:.2f}" if goal else "") +
                  f"  off/off {found['off/off']:.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
