"""Which tensor value crashed the program? The op, the element, the line, or the row of the data that made it."""
import wellposed as wp


def process_tensor(tensor: wp.Tensor) -> wp.Tensor:
    return wp.assert_finite(wp.log(tensor), "log of the input") * 2.0


# 1. An assertion in front of what follows it.
try:
    print(process_tensor(wp.asarray([1.0, 2.0, 0.0, 4.0])))
except wp.NonFiniteError as error:
    print(error)

# 2. What where() drops has not escaped, forward or backward.
x = wp.asarray([1.0, 0.0, 4.0])
with wp.GradientTape() as tape:
    tape.watch(x)
    loss = wp.sum(wp.where(x > 0.0, wp.log(x), 0.0))
print("\ngradient of the masked loss:", tape.gradient(loss, x))

# 3. A log(0) three layers before the loss that shows it.
with wp.Trace(), wp.scope("model"):
    features = wp.log(wp.asarray([[1.0, 2.0], [5.0, 0.0]]))
    loss = wp.mean(wp.tanh(features @ wp.full((2, 2), 0.25)) * features)
    try:
        print(loss.item())
    except wp.NonFiniteError as error:
        print(f"\n{wp.blame(error).text()}")

# 4. One NaN in ten thousand shuffled rows: the guard keeps it from the weights, and the report names the row.
messages: list[str] = []
wp.on_finding(lambda finding: messages.append(str(finding)))
g = wp.random.Generator(3)
raw = g.normal((10000, 6))
raw[7311, 4] = wp.nan
data, target, order = wp.with_rows(raw, "data"), g.normal((10000, 1)), g.permutation(10000)
w = wp.named(g.normal((6, 1)), "w")
guard = wp.GradientGuard()


def step(rows: wp.Tensor) -> None:
    global w
    with wp.GradientTape() as tape:
        tape.watch(w)
        loss = wp.mean(wp.square(wp.take(data, rows, axis=0) @ w - wp.take(target, rows, axis=0)))
    w = w - tape.gradient(loss, w) * 0.01


with wp.Trace():
    for b in range(100):
        wp.set_step(b)
        rows = order[100 * b:100 * b + 100]
        guard.attempt(lambda: step(rows))
print("\nsteps refused:", guard.refused, "- weights finite:", bool(wp.all(wp.isfinite(w))))
print("the report names the row:", any("7311" in m for m in messages))
