"""Why does TensorFlow crash with cuSolverDN errors when using tf.linalg.inv? The three programs of that answer, with one changed import.

Changed: `from wellposed.tensorflow import linalg` where the programs say tf.linalg. Their own mistakes, mended:
- the matrix is called nearly singular; it is exactly singular (row 1 = 1.00001 × row 0), and no precision helps: inv now says so, instead of giving numbers
  without a right digit or an InvalidArgumentError that depends on the rounding of one pivot;
- svd is unpacked as s, u, v, which is TensorFlow's order; wellposed's has names: f.U, f.S, f.Vh;
- matmul of three matrices, and without the adjoint: V diag(1/s) Uᴴ is two products; pinv does it with a threshold;
- a threshold of 1e-10 that does not know the size of the matrix: matrix_rank and pinv take it from the largest singular value;
- solve(…, transpose_a=…) does not exist (tf.linalg has adjoint=, which means the matrix): the right-hand side is Aᵀ. AᵀA + λI squares the condition;
  inv(A, ridge=λ) is the same matrix without that;
- tf.eye(2) is float32 beside a float64 matrix.
"""
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed.tensorflow import linalg

A = np.array([[1.0, 1.0], [1.00001, 1.00001]])
A_tensor = tf.constant(A, dtype=tf.float64)

print("1. direct inversion")
try:
    print(linalg.inv(A_tensor))
except wp.SingularMatrix as e:
    print(e)

print("\n2. through the singular values")
f = linalg.svd(A_tensor)
print("singular values:", np.array2string(np.round(f.S.numpy(), 6)))
if linalg.matrix_rank(A_tensor) < 2:
    print("the matrix has rank", int(linalg.matrix_rank(A_tensor)), "of 2; its pseudo-inverse is")
    print(np.array2string(linalg.pinv(A_tensor).numpy(), precision=6))

print("\n3. regularised")
lambda_reg = 1e-6
AtA = tf.matmul(A_tensor, A_tensor, transpose_a=True) + lambda_reg * tf.eye(2, dtype=tf.float64)
by_solve, d = linalg.diagnosed.solve(AtA, tf.transpose(A_tensor))
print(np.array2string(by_solve.numpy(), precision=6), d.status)
with tf.GradientTape() as tape:
    tape.watch(A_tensor)
    inverse_A = linalg.inv(A_tensor, ridge=lambda_reg)
    size = tf.reduce_sum(inverse_A**2)
print(np.array2string(inverse_A.numpy(), precision=6), "the same:", np.allclose(by_solve, inverse_A))
print("and it has a gradient:", bool(tf.reduce_all(tf.math.is_finite(tape.gradient(size, A_tensor)))))
