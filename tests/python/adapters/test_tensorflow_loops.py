"""Loops and branches of a tf.function that is differentiated inside: the graph that runs again finds the op, its turn, its line, and the op a derivative belongs to."""
import pytest
import tensorflow as tf

from points import line_of, report_of
from wellposed.tensorflow import watch


def in_a_loop():
    v = tf.Variable(3.0)

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            s = v.value()
            for i in tf.range(6):
                s = tf.math.log(s + 2.0 - tf.cast(i, tf.float32))  # here
        return s, tape.gradient(s, v)
    return train, "Source: Log made nan of x = -1.04", "turn 3"


def in_the_derivative_of_a_loop():
    v = tf.Variable(3.0)

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            s = v.value()
            for i in tf.range(3):
                s = tf.sqrt(s * tf.cast(2 - i, tf.float32))  # here
        return tape.gradient(s, v)
    return train, "Source: SqrtGrad in the derivative of Sqrt made inf of x1 = 0, x2 = 1", "turn 0"


def in_a_branch():
    x = tf.constant([1.0, 5.0])

    @tf.function
    def choose():
        if tf.reduce_sum(x) > 0:
            y = tf.sqrt(x - 2.0)  # here
        else:
            y = x
        return y
    return choose, "Source: Sqrt[0] made nan of x[0] = -1", "cond"


def in_the_derivative_of_a_branch():
    v = tf.Variable([1.0, 5.0])

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            if tf.reduce_sum(v) > 0:
                y = tf.sqrt(v - 1.0)  # here
            else:
                y = v.value()
        return tape.gradient(y, v)
    return train, "Source: SqrtGrad in the derivative of Sqrt[0] made inf of x1[0] = 0, x2[0] = 1", "cond"


@pytest.mark.parametrize("program", [in_a_loop, in_the_derivative_of_a_loop, in_a_branch, in_the_derivative_of_a_branch])
def test_the_op_its_line_and_its_turn_are_named(program):
    run, source, scope = program()

    def watched():
        with watch():
            run()
    report = report_of(watched)
    assert source in report and scope in report and f":{line_of(program)}, scope" in report
