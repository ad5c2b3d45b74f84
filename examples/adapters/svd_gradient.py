"""Why does tf.svd fail during TensorFlow's GradientTape? The three programs of that answer, with one changed import.

Changed: `from wellposed.tensorflow import linalg` where the programs say tf.linalg. Their own mistakes, mended:
- svd is differentiable; what is not is a loss that depends on the choice of singular vectors. The gradient of Σs is U Vᴴ, and not None;
- U, S, V = tf.linalg.svd(A): TensorFlow's order is s, u, v; wellposed's fields have names;
- qr gives two matrices, not three: Q, R. Its R is no approximation of the singular values: Σ|R| has another value and another gradient;
- the loss of the third program, ‖A − U S Vᴴ‖², is zero everywhere: its gradient is zero up to rounding and optimises nothing. A target makes it a loss.
The programs take a matrix with distinct singular values; the last lines show equal ones, where cotangents alone do not contain the answer.
"""
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed.tensorflow import linalg


def show(x):
    return np.array2string(np.round(np.asarray(x), 6) + 0.0, precision=6, suppress_small=True)


A = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64)
print("1. the gradient of the sum of the singular values")
with tf.GradientTape() as tape:
    tape.watch(A)
    U, S, Vh = linalg.svd(A)
    loss = tf.reduce_sum(S)
grads = tape.gradient(loss, A)
print(show(grads), "= U Vh:", np.allclose(grads, U @ Vh))

print("\n2. the same, in a tf.function")


@tf.function
def gradient(A):
    with tf.GradientTape() as tape:
        tape.watch(A)
        loss = tf.reduce_sum(linalg.svdvals(A))
    return tape.gradient(loss, A)


print(show(gradient(A)))

print("\n3. qr, which is no approximation of it")
with tf.GradientTape() as tape:
    tape.watch(A)
    Q, R = linalg.qr(A)
    loss = tf.reduce_sum(tf.abs(R))
grads = tape.gradient(loss, A)
print(show(grads))
h, V = 1e-6, np.array([[0.0, 1.0], [0.0, 0.0]])
print("the difference along one element:", show(sum(s * tf.reduce_sum(tf.abs(linalg.qr(A + s * h * V).R)) for s in (1, -1)) / (2 * h)), "· Σ|R|:", show(loss), "· Σs:",
      show(tf.reduce_sum(linalg.svdvals(A))))

print("\n4. a loss of the factors: the distance of U S Vh to a target")
B, target = tf.Variable(A), tf.constant([[1.0, 0.0], [0.0, 1.0]], dtype=tf.float64)
with tf.GradientTape() as tape:
    U, S, Vh = linalg.svd(B)
    loss = tf.reduce_sum(tf.square(target - (U * S) @ Vh))
grads = tape.gradient(loss, B)
print(show(grads), "= 2 (A − target):", np.allclose(grads, 2 * (A - target)))

print("\n5. equal singular values")
E = 2 * tf.eye(2, dtype=tf.float64)
M = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float64)
with tf.GradientTape() as tape:
    tape.watch(E)
    U, S, Vh = linalg.svd(E)
    loss = tf.reduce_sum(M * (U @ Vh))
try:
    tape.gradient(loss, E)
except wp.GaugeError as error:
    print(error)
with tf.GradientTape() as tape:
    tape.watch(E)
    loss = linalg.through_svd(E, lambda U, S, Vh: tf.reduce_sum(M * (U @ Vh)))
print("through_svd:", show(tape.gradient(loss, E)))
