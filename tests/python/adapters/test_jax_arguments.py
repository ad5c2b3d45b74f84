"""What a function of JAX is called with: flags, names, functions, objects, and arrays whose memory it takes."""
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

import wellposed as wp
from points import line_of, notes_of, report_of
from wellposed import _core
from wellposed.jax import watch


def test_arguments_that_are_no_arrays_stay_as_they_are():
    class Model:
        shift = 0.0

        @watch
        def loss(self, x, how, root, *, twice=False):
            y = jnp.log(root(x) + self.shift)  # here
            return (y if twice else 2 * y).sum() if how == "sum" else y
    for compiled in (lambda f: f, lambda f: jax.jit(f, static_argnums=(1, 2), static_argnames="twice")):
        w = watch(compiled(lambda x, how, root, twice: Model.loss.f(Model(), x, how, root, twice=twice)))
        report = report_of(lambda: w(jnp.array([1.0, 0.0]), "sum", jnp.sqrt, twice=True))
        assert "Source: log[1] made -inf of x[1] = 0" in report and f":{line_of(Model)}," in report and len(w.findings) == 1
    assert "Source: log[1] made -inf" in report_of(lambda: Model().loss(jnp.array([1.0, 0.0]), "sum", jnp.sqrt))
    counted = watch(jax.jit(lambda x, n, train: jnp.log(x[:n]) if train else x, static_argnums=(1, 2)))
    report = report_of(lambda: counted(jnp.array([1.0, 0.0, 2.0]), 2, True))
    assert "Source: log[1] made -inf" in report and len(counted.findings) == 1


def test_memory_that_is_given_away_is_copied_from_the_second_call_on():
    step = jax.jit(lambda p, key, x: {"w": p["w"] - jax.grad(lambda w: jnp.log(w * x).sum())(p["w"])}, donate_argnums=(0, 1))
    w, x = watch(step), jnp.array([1.0, 2.0])
    p = {"w": jnp.ones(2)}
    for _ in range(2):
        plain = step({"w": jnp.array(np.asarray(p["w"]))}, jax.random.key(1), x)
        p = w(p, jax.random.key(1), x * 1)
        assert jnp.array_equal(p["w"], plain["w"])
        p = {"w": p["w"] + 3}
    note, = notes_of(w)
    assert "copied before each call" in note
    report = report_of(lambda: w(p, jax.random.key(1), x.at[1].set(0.0)))
    assert "Source: div" in report and "x2[1] = 0" in report, report
    first = watch(step)
    report = report_of(lambda: first({"w": jnp.ones(2)}, jax.random.key(1), x.at[1].set(0.0)))
    assert "could not be run again" in report and [f.severity for f in first.findings] == ["note", "warning"]


SHARDED = """
import jax, jax.numpy as jnp, wellposed as wp
from wellposed.jax import watch
from wellposed._adapters.session import Session
Session.raises_defects = True
mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
place = jax.sharding.NamedSharding(mesh, jax.P("d"))
x = jax.device_put(jnp.arange(8.0), place)
pieces = jax.shard_map(lambda t: jnp.log(t) - jax.lax.psum(t.sum(), "d"), mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"))
for f, source in ((jax.jit(lambda x: jnp.log(x), in_shardings=place), "log[0] made -inf of x[0] = 0"), (lambda x: pieces(x), "shard_map[0] made -inf of x1[0] = 0")):
    w = watch(f)
    try:
        w(x)
    except wp.NonFiniteError as error:
        assert source in str(error), error
        print(*(f.message for f in w.findings if f.severity == "note"))
"""


def test_arrays_over_several_devices_are_looked_at_and_pieces_are_judged_as_one():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run([sys.executable, "-c", SHARDED], env=environment, check=False, capture_output=True, text=True)
    assert done.stdout == "\nshard_map over several devices is judged as one op.\n", done.stderr


def test_a_recording_counts_calls_and_leaves_the_steps_of_others_alone(tmp_path):
    before = _core.current_step()
    w = watch(jnp.exp, record=str(tmp_path / "run.wpr"))
    for _ in range(3):
        w(jnp.ones(2))
        assert _core.current_step() == before
    w.close()
    assert _core.current_step() == before and "step 2" in wp.postmortem(str(tmp_path / "run.wpr")).text(3)
