"""How can I identify TensorFlow crash-causing tensor values? The three programs of that answer, with watch, a schema and a summary.

Changed: one import of wellposed.tensorflow. Their own mistakes, mended:
- assert_all_finite stands before log, whose argument is finite: it sees nothing, and log(0) passes. watch looks at results, and names element and operand;
- v1 Session and control_dependencies do nothing in TensorFlow 2: functions run as they are written;
- np.any(data < 0) or np.any(data > 1) lets NaN through: a schema does not, and names row and column;
- tf.layers is gone: keras.layers; merge_all and FileWriter need no session: wellposed.SummaryWriter.
"""
import tempfile

import keras
import numpy as np
import tensorflow as tf

import wellposed as wp
from wellposed.tensorflow import watch


@tf.function
def process_tensor(tensor):
    result = tf.math.log(tensor)
    return result * 2


print("1. runtime assertion")
my_tensor = tf.constant([1.0, 2.0, 0.0, 4.0])
try:
    with watch():
        processed_tensor = process_tensor(my_tensor)
except wp.NonFiniteError as e:
    print(e)

print("\n2. data validation")
my_data = np.array([[0.2, 0.8], [0.5, np.nan], [-0.1, 0.9]])
schema = wp.Schema.from_toml("[tensor]\nrank = 2\nrange = [0, 1]\n")
try:
    wp.validate(my_data, schema, raise_=True)
except wp.ValidationError as e:
    print(e)

print("\n3. targeted logging")
keras.utils.set_random_seed(1)
layer2 = keras.layers.Dense(64, name="layer2")
with tempfile.TemporaryDirectory() as folder, wp.SummaryWriter(folder) as writer, watch() as w:
    layer1_output = tf.nn.relu(tf.random.normal((10, 32)))
    layer2_output = layer2(layer1_output)
    for name, x in (("layer1_output", layer1_output), ("layer2_output", layer2_output)):
        writer.histogram(name, x.numpy(), step=0)
    print("findings:", len(w.findings), "· results:", tuple(layer2_output.shape))
