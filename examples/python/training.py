"""The document's my_model: two scopes, a histogram of what leaves each of them, and the training loop around it."""
import wellposed as wp
from wellposed import nn


def my_model(p: nn.Pass, input_tensor: wp.Tensor) -> wp.Tensor:
    with wp.scope("layer1"):
        layer1_output = wp.relu(input_tensor)
        wp.summary.histogram("output", layer1_output)
    with wp.scope("layer2"):
        layer2_output = nn.dense(p, layer1_output, 64)
        wp.summary.histogram("output", layer2_output)
    return layer2_output


# 640 rows of 32 numbers, and what a model with other weights makes of them.
x = wp.random.Generator(1).normal((640, 32), dtype="f32")
teacher = nn.Model(seed=2)
data = wp.Dataset({"x": x, "y": my_model(nn.Pass(teacher), x)}, batch=32, seed=3)

model = nn.Model(seed=4)
trainer = nn.Trainer(model, nn.adam(nn.cosine_decay(0.02, 200)), lambda p, batch: nn.mse(my_model(p, batch["x"]), batch["y"]),
                     epochs=10, summaries="runs/my_model", watch_every=10, progress=False)
history = trainer.fit(data)
print(f"{history.steps} steps, loss from {history.epochs[0].values['loss']:.1e} to {history.epochs[-1].values['loss']:.1e}")
for name, value in model.parameters.items():
    print(name, value.shape)

# What TensorBoard will show (tensorboard --logdir runs), and a page for those who have none.
runs = wp.read_events("runs")
for tag, series in runs["my_model"].histograms.items():
    print("histogram", tag, "of", len(series["step"]), "steps")
with open("my_model.html", "w") as page:
    page.write(wp.events_page(runs, "my_model"))

# A number that is none stops the training, and the error names its row.
x[123, 4] = wp.nan
bad = wp.Dataset({"x": x, "y": my_model(nn.Pass(teacher), wp.zeros((640, 32), dtype="f32"))}, batch=32, seed=3)
try:
    nn.Trainer(model, nn.adam(), lambda p, batch: nn.mse(my_model(p, batch["x"]), batch["y"]), progress=False).fit(bad)
except wp.NonFiniteError as error:
    print(error)
