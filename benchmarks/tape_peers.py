"""The gradients of tape.cpp in other libraries: PyTorch and TensorFlow eager, JAX compiled."""
import numpy as np


def operands(dtype, shape, count):
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype({"f32": "float32", "f64": "float64"}[dtype]) for _ in range(count)]


def parameters(dtype, batch, features=32, hidden=64):
    rng = np.random.default_rng(2)
    t = {"f32": "float32", "f64": "float64"}[dtype]
    sizes = [((features, hidden), .2), ((hidden,), 0), ((hidden, hidden), .1), ((hidden,), 0), ((hidden, 10), .1), ((10,), 0)]
    return (rng.normal(size=(batch, features)).astype(t), np.arange(batch) % 10,
            [(rng.normal(size=s) * f).astype(t) for s, f in sizes])


def loss_of(library, op, a, b):
    """In a library that has NumPy's names: torch, jax.numpy."""
    def loss(t):
        if op in ("tape.chain", "chain"):
            for _ in range(250):
                t = library.sin(library.tanh(t) * a) + b
            return t.sum()
        if op == "tape.inv":
            return library.linalg.inv(t).sum()
        if op == "tape.svdvals":
            return library.linalg.svdvals(t).sum()
        u, s, vh = library.linalg.svd(t, full_matrices=False)
        return s.sum() if op == "tape.svd_sum" else (a * ((u * (s * s)) @ vh)).sum()
    return loss


def torch_call(op, dtype, shape):
    import torch
    torch.set_grad_enabled(True)
    if op == "tape.mlp":
        x, labels, p = parameters(dtype, *shape)
        x, labels = torch.from_numpy(x), torch.from_numpy(labels)
        p = [torch.from_numpy(v).requires_grad_() for v in p]

        def step():
            h = torch.relu(x @ p[0] + p[1])
            h = torch.relu(h @ p[2] + p[3])
            g = torch.autograd.grad(torch.nn.functional.cross_entropy(h @ p[4] + p[5], labels), p)
            with torch.no_grad():
                for v, d in zip(p, g):
                    v -= .01 * d
        return step
    x, a, b = (torch.from_numpy(v) for v in operands(dtype, shape, 3))
    loss = loss_of(torch, op, a, b)
    if op == "chain":
        return lambda: loss(x)
    leaf = x.clone().requires_grad_()
    return lambda: torch.autograd.grad(loss(leaf), leaf)


def jax_update(dtype, shape):
    """The training step as a function of the parameters, and the parameters."""
    import jax
    import jax.numpy as jnp
    x, labels, p = parameters(dtype, *shape)

    def loss(p):
        h = jax.nn.relu(x @ p[0] + p[1])
        h = jax.nn.relu(h @ p[2] + p[3])
        return -jnp.mean(jax.nn.log_softmax(h @ p[4] + p[5])[jnp.arange(len(labels)), labels])
    return lambda p: [v - jnp.asarray(.01, v.dtype) * d for v, d in zip(p, jax.grad(loss)(p))], [jnp.asarray(v) for v in p]


def jax_call(op, dtype, shape):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    if op == "tape.mlp":
        update, p = jax_update(dtype, shape)
        step, state = jax.jit(update), [p]

        def run():
            state[0] = jax.block_until_ready(step(state[0]))
        return run
    x, a, b = (jnp.asarray(v) for v in operands(dtype, shape, 3))
    loss = loss_of(jnp, op, a, b)
    f = jax.jit(loss if op == "chain" else jax.grad(loss))
    return lambda: jax.block_until_ready(f(x))


def tensorflow_step(dtype, shape):
    """The training step, eager."""
    import tensorflow as tf
    x, labels, p = parameters(dtype, *shape)
    p = [tf.Variable(v) for v in p]

    def step():
        with tf.GradientTape() as tape:
            h = tf.nn.relu(x @ p[0] + p[1])
            h = tf.nn.relu(h @ p[2] + p[3])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, h @ p[4] + p[5]))
        for v, d in zip(p, tape.gradient(loss, p)):
            v.assign_sub(.01 * d)
    return step


def tensorflow_call(op, dtype, shape):
    import tensorflow as tf
    if op == "tape.mlp":
        return tf.function(tensorflow_step(dtype, shape))
    x, a, b = (tf.constant(v) for v in operands(dtype, shape, 3))

    def loss(t):
        if op in ("tape.chain", "chain"):
            for _ in range(250):
                t = tf.sin(tf.tanh(t) * a) + b
            return tf.reduce_sum(t)
        if op == "tape.inv":
            return tf.reduce_sum(tf.linalg.inv(t))
        if op == "tape.svdvals":
            return tf.reduce_sum(tf.linalg.svd(t, compute_uv=False))
        s, u, v = tf.linalg.svd(t, full_matrices=False)
        return tf.reduce_sum(s) if op == "tape.svd_sum" else tf.reduce_sum(a * tf.matmul(u * (s * s), v, adjoint_b=True))
    if op == "chain":
        return lambda: loss(x)

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x)
        return tape.gradient(y, x)
    return gradient


CALLS = {"torch": torch_call, "jax": jax_call, "tensorflow": tensorflow_call}
