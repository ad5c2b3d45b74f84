"""A hundred thousand tracks, each with a square-root Kalman filter of its own: P = UᵀU is never formed.

Tested with arguments: 300 12
"""
import sys
import time

import wellposed as wp

STEP, NOISE, PUSH = 0.1, 0.05, 0.3
F = wp.asarray([[1, 0, STEP, 0], [0, 1, 0, STEP], [0, 0, 1, 0], [0, 0, 0, 1.0]])
H = wp.asarray([[1.0, 0, 0, 0], [0, 1, 0, 0]])
G = wp.asarray([[STEP**2 / 2, 0], [0, STEP**2 / 2], [STEP, 0], [0, STEP]])  # of accelerations


def step(x: wp.Tensor, u: wp.Tensor, z: wp.Tensor) -> tuple[wp.Tensor, wp.Tensor]:
    """States [tracks, 4, 1] and factors [tracks, 4, 4] after a measurement."""
    tracks = x.shape[0]
    x = F @ x
    push = wp.broadcast_to(PUSH * G.T, (tracks, 2, 4))
    u = wp.linalg.qr(wp.concat([u @ F.T, push], axis=1)).R  # P ← F P Fᵀ + σ² G Gᵀ
    noise = wp.broadcast_to(wp.concat([NOISE * wp.eye(2), wp.zeros((2, 4))], axis=1), (tracks, 2, 6))
    r = wp.linalg.qr(wp.concat([noise, wp.concat([u @ H.T, u], axis=2)], axis=1)).R
    e, k = r[:, :2, :2].mT, r[:, :2, 2:].mT
    return x + k @ wp.linalg.solve(e, z - H @ x), r[:, 2:, 2:]


tracks, steps = (int(a) for a in sys.argv[1:]) if len(sys.argv) == 3 else (100000, 100)
g = wp.random.Generator(3)
truth = g.normal((tracks, 4, 1))
x, u = wp.zeros((tracks, 4, 1)), wp.broadcast_to(10.0 * wp.eye(4), (tracks, 4, 4))
p, y = 100.0 * wp.broadcast_to(wp.eye(4), (tracks, 4, 4)), x  # the filter by the book, beside it
times = []
apart = 0.0
for i in range(steps):
    truth = F @ truth + PUSH * (G @ g.normal((tracks, 2, 1)))
    z = H @ truth + g.normal((tracks, 2, 1), std=NOISE)
    start = time.perf_counter()
    x, u = step(x, u, z)
    times.append(1e3 * (time.perf_counter() - start))
    if i < 10:
        y, p = F @ y, F @ p @ F.T + PUSH**2 * (G @ G.T)
        s = H @ p @ H.T + NOISE**2 * wp.eye(2)
        gain = p @ H.T @ wp.linalg.inv(s)
        y, p = y + gain @ (z - H @ y), p - gain @ s @ gain.mT
        apart = max(apart, wp.max(wp.abs(x - y)).item(), wp.max(wp.abs(u.mT @ u - p)).item())

times.sort()
p50, p95, p99 = (times[round(q * (steps - 1))] for q in (0.5, 0.95, 0.99))
print(f"{tracks} tracks, {steps} steps: {p50:.1f} ms (p50), {p95:.1f} ms (p95), {p99:.1f} ms (p99)")
off = wp.sqrt(wp.mean(wp.square((x - truth)[:, :2]))).item()
print("nearer than the measurements:", off < NOISE)
print("the filter by the book agrees:", apart < 1e-9)
