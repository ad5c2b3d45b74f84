"""A peer of benchmarks/judge.py: answers the questions of worker.cpp's protocol.

    benchmarks/peers.py numpy|torch|jax|tensorflow
"""
import os
import statistics
import sys
import time


def peer_call(name, op, dtype, shape):
    if op == "chain" or op.startswith("tape."):
        import tape_peers
        return tape_peers.CALLS[name](op, dtype, shape)
    import numpy as np
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.1, 1, shape).astype({"f32": "float32", "f64": "float64"}[dtype]) for _ in range(2))
    function = op.removeprefix("linalg.")
    if op in ("cholesky_factor", "linalg.cholesky", "linalg.eigh", "linalg.eigvalsh"):
        x = (x + x.swapaxes(-1, -2)) / 2 + shape[-1] * np.eye(shape[-1], dtype=x.dtype)
    if len(shape) > 2 and (op.startswith("linalg.") or op == "matmul"):
        return small_matrices(name, function, x, y)
    if name == "numpy":
        if op.startswith("linalg."):
            f, more = getattr(np.linalg, function), (y[0],) if function == "solve" else ()
            return lambda: f(x, *more)
        calls = {"lu_solve": lambda: np.linalg.solve(x, y), "lu_inverse": lambda: np.linalg.inv(x),
                 "cholesky_factor": lambda: np.linalg.cholesky(x),
                 "relu": lambda: np.maximum(x, 0), "all_finite": lambda: np.isfinite(x).all(), "matmul": lambda: x @ y,
                 "+": lambda: x + y, "add": lambda: np.add(x, y), "multiply": lambda: np.multiply(x, y)}
        return calls.get(op) or (lambda f=getattr(np, op): f(x))
    if name == "tensorflow":
        import tensorflow as tf
        a, b = tf.constant(x), tf.constant(y[0][:, None])
        f, more = getattr(tf.linalg, function), (b,) if function == "solve" else ()
        return lambda: f(a, *more)
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    if op.startswith("linalg."):
        f, more = getattr(torch.linalg, function), (b[0],) if function == "solve" else ()
        return lambda: f(a, *more)
    calls = {"lu_factor": lambda: torch.linalg.lu_factor(a), "lu_solve": lambda: torch.linalg.solve(a, b),
             "lu_inverse": lambda: torch.linalg.inv(a), "cholesky_factor": lambda: torch.linalg.cholesky(a),
             "all_finite": lambda: torch.isfinite(a).all(), "matmul": lambda: a @ b, "softmax": lambda: torch.softmax(a, -1),
             "+": lambda: a + b, "add": lambda: torch.add(a, b), "multiply": lambda: torch.mul(a, b)}
    return calls.get(op) or (lambda f=getattr(torch, op): f(a))


def small_matrices(name, function, x, y):
    """A function of a stack of matrices; solve and lstsq have one right-hand side per matrix, matmul a matrix."""
    b = y if function == "matmul" else y[..., :1].copy()
    two = function in ("solve", "lstsq", "matmul")
    if name == "numpy":
        import numpy as np
        if function == "matmul":
            return lambda: x @ b
        f, more = getattr(np.linalg, function), (b,) if two else ()
        return lambda: f(x, *more)
    if name == "tensorflow":
        import tensorflow as tf
        a, b = tf.constant(x), tf.constant(b)
        calls = {"solve": lambda: tf.linalg.solve(a, b), "matmul": lambda: tf.linalg.matmul(a, b),
                 "svdvals": lambda: tf.linalg.svd(a, compute_uv=False), "eigvalsh": lambda: tf.linalg.eigvalsh(a),
                 "lstsq": lambda: tf.linalg.lstsq(a, b, fast=False)}  # fast: normal equations, which fail in f32
        return calls.get(function) or (lambda f=getattr(tf.linalg, function): f(a))
    if name == "jax":
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        a, b = jnp.asarray(x), jnp.asarray(b)
        plain = {"svdvals": lambda m: jnp.linalg.svd(m, compute_uv=False), "lu": jax.lax.linalg.lu, "matmul": jnp.matmul,
                 "expm": jax.scipy.linalg.expm,
                 "lstsq": jax.vmap(lambda m, r: jnp.linalg.lstsq(m, r)[0])}.get(function) or getattr(jnp.linalg, function)
        f, arguments = jax.jit(plain), (a, b) if two else (a,)
        return lambda: jax.block_until_ready(f(*arguments))
    import torch
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = torch.from_numpy(x), torch.from_numpy(b)
    f, more = torch.matrix_exp if function == "expm" else getattr(torch.linalg, function), (b,) if two else ()
    return lambda: f(a, *more)


def serve_peer(name):
    if name == "numpy":
        import numpy
        print("NumPy", numpy.__version__, flush=True)
    elif name == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(int(os.environ["OMP_NUM_THREADS"]))
        tf.config.threading.set_inter_op_parallelism_threads(1)
        print("TensorFlow", tf.__version__, flush=True)
    elif name == "jax":
        import jax
        print("JAX", jax.__version__, flush=True)
    else:
        import torch
        torch.set_grad_enabled(False)
        print("PyTorch", torch.__version__, flush=True)
    clock = time.process_time_ns if os.environ.get("BENCH_CPU_TIME") else time.perf_counter_ns
    key, call, calls = None, None, 1

    def run(n):
        start = clock()
        for _ in range(n):
            call()
        return clock() - start

    for line in sys.stdin:
        op, dtype, shape, _, milliseconds = line.split()
        if key != (op, dtype, shape):
            key, calls = (op, dtype, shape), 1
            try:
                call = peer_call(name, op, dtype, [int(n) for n in shape.split("x")])
            except AttributeError:  # the library has no such function
                call = None
            while call and run(calls) < 5e4:
                calls *= 2
        if not call:
            print("missing", flush=True)
            continue
        times = []
        while sum(times) < float(milliseconds) * 1e6:
            times.append(run(calls))
        print(statistics.median(times) / calls, flush=True)


if __name__ == "__main__":
    serve_peer(sys.argv[1])
