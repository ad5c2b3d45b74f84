"""tf.svd failed inside GradientTape: gradients through it are right here, or say why there is none."""
import wellposed as wp


def gradient(a: wp.Tensor, target: wp.Tensor) -> wp.Tensor:
    """Of ‖U S Vᴴ − T‖²: 2 (A − T), also where singular values repeat or vanish."""
    with wp.GradientTape() as tape:
        tape.watch(a)
        U, S, Vh = wp.linalg.svd(a, full_matrices=False)
        loss = wp.sum(wp.square((U * S) @ Vh - target))
    found: wp.Tensor = tape.gradient(loss, a)
    return found


T = wp.asarray([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.5, 1.0]])
tied = wp.asarray([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
for name, a in {"tied": tied, "rank 1": wp.ones((3, 3)), "zero": wp.zeros((3, 3))}.items():
    error = wp.max(wp.abs(gradient(a, T) - 2.0 * (a - T))).item()
    print(f"{name}: largest error against 2 (A - T)", "below 1e-10" if error < 1e-10 else "too large")

# The nuclear norm: the gradient of svdvals needs no vectors.
with wp.GradientTape() as tape:
    tape.watch(T)
    norm = wp.sum(wp.linalg.svdvals(T))
print("gradient of the nuclear norm is orthogonal:", wp.max(wp.abs(wp.linalg.svdvals(tape.gradient(norm, T)) - 1.0)).item() < 1e-12)

# U alone at a tie depends on a basis that the matrix does not determine.
with wp.GradientTape() as tape:
    tape.watch(tied)
    loss = wp.sum(wp.linalg.svd(tied).U)
try:
    tape.gradient(loss, tied)
except wp.GaugeError as gauge:
    print("GaugeError:", gauge.code)

# Procrustes: the rotation that brings one cloud of points onto another, by descent from the worst point there is.
g = wp.random.Generator(7)
points = g.normal((200, 3))
turn = wp.linalg.qr(g.normal((3, 3))).Q
seen = points @ turn + 0.01 * g.normal((200, 3))
m = wp.eye(3)
for step in range(60):
    with wp.GradientTape() as tape:
        tape.watch(m)
        U, S, Vh = wp.linalg.svd(m)
        loss = wp.mean(wp.square(points @ (U @ Vh) - seen))
    m = m - tape.gradient(loss, m)
U, S, Vh = wp.linalg.svd(points.mT @ seen)
best = wp.mean(wp.square(points @ (U @ Vh) - seen))
print("descent reaches the best rotation:", loss.item() < 1.0001 * best.item())
