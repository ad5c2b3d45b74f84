"""A recommender: ratings completed by a matrix of low rank; the nuclear norm keeps the rank low."""
import wellposed as wp

g = wp.random.Generator(11)
truth = g.normal((60, 3)) @ g.normal((3, 40))
lot = g.uniform((60, 40))
known, held_out = lot < 0.4, lot > 0.9


def error(x: wp.Tensor, where: wp.Tensor) -> wp.Tensor:
    return wp.sum(wp.where(where, wp.square(x - truth), 0.0)) / wp.count_nonzero(where)


x, velocity = 0.01 * g.normal((60, 40)), wp.zeros((60, 40))
start = error(x, held_out).item()
for step in range(400):
    wp.set_step(step)
    with wp.GradientTape() as tape:
        tape.watch(x)
        loss = error(x, known) + 0.004 * wp.sum(wp.linalg.svdvals(x))
    velocity = 0.9 * velocity - 20.0 * tape.gradient(loss, x)
    x = x + velocity
end = error(x, held_out).item()
print("held-out error falls to", "less than a tenth" if end < 0.1 * start else "not a tenth", "of what it was")
print("singular values above 1:", wp.count_nonzero(wp.linalg.svdvals(x) > 1.0).item())
