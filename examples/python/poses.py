"""A million rigid bodies in f32: inverses of their poses, and the nearest rotations to noisy ones.

Tested with arguments: 2000
"""
import sys
import time

import wellposed as wp

bodies = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
g = wp.random.Generator(5)
turns = wp.linalg.qr(g.normal((bodies, 3, 3))).Q
turns = turns * wp.reshape(wp.linalg.det(turns), (bodies, 1, 1))  # rotations: det = +1
shifts = g.normal((bodies, 3, 1), std=10.0)


def pose(turn: wp.Tensor, shift: wp.Tensor) -> wp.Tensor:
    bottom = wp.broadcast_to(wp.asarray([[0.0, 0, 0, 1]]), (bodies, 1, 4))
    return wp.concat([wp.concat([turn, shift], axis=2), bottom], axis=1)


start = time.perf_counter()
poses = wp.astype(pose(turns, shifts), wp.float32)
inverses = wp.linalg.inv(poses)
print(f"inverses of poses: {1e3 * (time.perf_counter() - start):.0f} ms")
error = wp.max(wp.abs(wp.astype(inverses, wp.float64) - pose(turns.mT, -(turns.mT @ shifts)))).item()
print("right to f32:", error < 2e-5)

start = time.perf_counter()
noisy = wp.astype(turns + g.normal((bodies, 3, 3), std=0.01), wp.float32)
U, _, Vh = wp.linalg.svd(noisy)
side = wp.reshape(wp.linalg.det(U @ Vh), (bodies, 1, 1))  # −1 where U Vᵀ is a reflection
last = wp.asarray([0.0, 0, 1], dtype=wp.float32)
nearest = (U * (1.0 + (side - 1.0) * last)) @ Vh
print(f"nearest rotations: {1e3 * (time.perf_counter() - start):.0f} ms")
wide = wp.astype(nearest, wp.float64)
print("orthogonal to f32:", wp.max(wp.abs(wide.mT @ wide - wp.eye(3))).item() < 2e-6)
