"""Where values leave in TensorFlow besides gradients and variables: results of a block, arguments of linear algebra, errors of ops in functions."""
import numpy as np
import pytest
import tensorflow as tf

import wellposed as wp
from points import line_of, report_of
from wellposed.tensorflow import linalg, watch

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
X = tf.constant([1.0, 2.0, 0.0, 4.0])


def process_tensor(tensor):
    with tf.control_dependencies([tf.debugging.assert_all_finite(tensor, "NaN or Inf detected")]):
        return tf.math.log(tensor) * 2  # here


@MODES
def test_the_first_program_of_the_third_document_is_told(mode):
    def run():
        with watch():
            processed = mode(process_tensor)(X)
        return processed
    report = report_of(run)
    assert "Source: Log[2] made -inf of x[2] = 0" in report and f":{line_of(process_tensor)}, " in report


def test_a_result_that_the_block_keeps_in_a_structure_is_told():
    def run():
        with watch():
            kept = {"losses": [X, tf.math.log(X)]}
        return kept
    assert "the result of the block: -inf leaves the computation" in report_of(run)


def test_what_other_ops_have_read_what_was_put_in_and_what_nobody_keeps_is_no_result():
    with watch() as w:
        mask = tf.math.log(tf.linalg.band_part(tf.ones([3, 3]), -1, 0))
        attention = tf.nn.softmax(tf.ones([3, 3]) + mask)
        infinite = tf.fill([2], -np.inf)
        tf.math.log(X)
    assert not w.findings and np.isfinite(attention).all() and mask.shape == (3, 3) and infinite.shape == 2


# ---- linear algebra
def inverted(x):
    return tf.reduce_sum(linalg.inv(x, if_ill="nan") * 2)  # here


def of_logarithms(x):
    return tf.reduce_sum(linalg.inv(tf.math.log(x - 1)))  # here


def stepped(mode, f):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    def run():
        with watch():
            mode(step)(tf.ones([2, 2]))
    return run


@MODES
@pytest.mark.filterwarnings("ignore::wellposed.FindingWarning")
def test_linear_algebra_is_an_op_with_a_line_that_makes_values_and_reads_them(mode):
    report = report_of(stepped(mode, inverted))
    assert "Source: linalg.inv[0, 0] made nan" in report and f":{line_of(inverted)}, " in report, report
    report = report_of(stepped(mode, of_logarithms))
    assert "Source: Log[0, 0] made -inf of x[0, 0] = 0" in report and f":{line_of(of_logarithms)}, " in report, report


# ---- errors
def embed(table, tokens):
    return tf.gather(table, tokens)  # here


@MODES
def test_an_index_out_of_range_is_told_with_its_line_and_row(mode):
    tokens = np.array([[3, 17, 999, 4], [12, 8, 5, 6], [2, 1000, 7, 9]])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught, watch(data={"tokens": tokens}):
        mode(embed)(tf.ones([1000, 8]), tf.constant(tokens[[2, 0]]))
    note = "\n".join(caught.value.__notes__)
    assert f"test_tensorflow_ends.py:{line_of(embed)}, step 0" in note and "indices[0,1] = 1000 is out of range: it must be from 0 to 999." in note
    assert "tokens row 2, column 1 = 1000" in note


def checked(x):
    tf.debugging.assert_less(x, 1.0)
    return x * 2


def test_errors_of_other_ops_come_through_as_they_are():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught, watch():
        tf.function(checked)(X)
    assert not hasattr(caught.value, "__notes__") and not isinstance(caught.value, wp.Error)
