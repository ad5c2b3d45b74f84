"""Data at the door: a schema, a report that names the rows, and a data set that lets blame find them."""
import numpy as np
import wellposed as wp


def validate_data(data: np.ndarray) -> wp.Tensor:
    wp.validate(data, wp.Schema().tensor(rank=2, finite=True, range=[0, 1]), raise_=True)
    return wp.asarray(data)


# 1. The document's example.
try:
    validate_data(np.array([[0.2, 0.8], [0.5, 0.5], [-0.1, 0.9]]))
except wp.ValidationError as error:
    print(error)
    print(error.report.rules[-1].first[0].row, error.code)

# 2. A schema of two tensors whose rows belong together.
schema = wp.Schema("""
version = 1
holds = ["x.size <= y"]
[tensor.x]
shape = ["batch", 2]
columns = ["age", "size"]
[tensor.x.column.age]
range = [0, 130]
[tensor.y]
shape = ["batch"]
""")
report = wp.validate({"x": np.array([[41.0, 1.0], [-3.0, 2.0]]), "y": np.array([1.5, 1.5])}, schema)
print("\n" + report.text())

# 3. What new data is measured by, from data that was good.
before = wp.random.Generator(1).normal((5000,))
print(wp.infer_schema(before).toml())
print(wp.schema_diff(wp.infer_schema(before), wp.infer_schema(before * 2.0)))

# 4. From a loss back to the row of the data set.
raw = np.random.default_rng(0).normal(size=(1000, 3))
raw[731, 2] = np.nan
data = wp.Dataset({"data": raw}, batch=50, seed=4)
with wp.Trace():
    for batch in data.epoch(0):
        loss = wp.mean(wp.exp(batch["data"]))
        if not wp.isfinite(loss):
            print("\n" + wp.blame(loss).text())
