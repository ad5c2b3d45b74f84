"""tf.linalg.inv crashed on this matrix: what is wrong with it, and what to do instead."""
import wellposed as wp

A = wp.asarray([[1.0, 1.0], [1.00001, 1.00001]])

# 1. Direct inversion: refused, with the reason.
try:
    print(wp.linalg.inv(A))
except wp.SingularMatrix as error:
    print(error.finding and error.finding.message)
    found = error.diagnosis[0]
    print("exactly singular:", found.exactly_singular, "- rank", found.rank)
    print("null vector:", found.null_vector)

# 2. By singular values: the pseudo-inverse needs no threshold of one's own.
print("\nsingular values above rounding:", wp.linalg.matrix_rank(A).item())
print(wp.linalg.pinv(A))

# 3. Tikhonov: λ given, or found from the matrix.
print("\nλ = 1e-6:")
print(wp.linalg.inv(A, ridge=1e-6))
value, diagnosis = wp.linalg.diagnosed.inv(A, ridge="auto")
print("λ found:", f"{diagnosis.ridge.item():.3g}")

# 4. A matrix that only looks as if it had no inverse.
inverse, diagnosis = wp.linalg.diagnosed.inv([[1.0, 1.0], [1.00001, 1.00002]])
print("\nstatus", diagnosis.status, "- digits", round(diagnosis.digits.item()))

# 5. One bad member of a batch does not cost the others.
batch = wp.stack([wp.eye(2) * 2.0, A, wp.eye(2) * 4.0])
inverses, diagnosis = wp.linalg.diagnosed.inv(batch)
print("\n", diagnosis.status)
print(inverses[2])
