"""Tensors in which every number can be held to account.

The namespace follows the Python array API standard 2024.12; wellposed.linalg and wellposed.random belong to it.
"""
from . import _core  # puts Tensor, the dtypes and the functions of the op table into this package
from ._arrays import (__array_namespace_info__, asarray, asarray as array, can_cast, e, finfo, from_dlpack, iinfo, inf,
                      isdtype, nan, newaxis, pi, result_type)
from ._contexts import allow_nonfinite, checks, record, scope
from ._core import (Blame, Dataset, Events, Finding, GradientGuard, Replay, Report, Schema, SummaryWriter, Trace, Trends, assert_dims_at_most,
                    assert_finite, assert_probability, assert_range, assert_shape, assert_spd, assert_that, bisect, blame, check_level,
                    clear_findings, current_scope, events_page, findings, infer_schema, named, postmortem, read_events, recording, replay,
                    rows_of, schema_diff, set_checks, set_rows, set_step, set_threads, threads, validate, with_rows)
from ._errors import (ArgumentError, AssertionError, DomainError, DtypeError, Error, FileError, FindingWarning, FormatError,
                      GaugeError, GradientError, IllConditionedWarning, IndexError, InternalError, LinalgError, NonFiniteError,
                      NonFiniteWarning, NotConverged, NotPositiveDefinite, OutOfMemory, ShapeError, SingularMatrix, ValidationError, on_finding)
from ._files import RowReader, RowWriter, load, load_all, load_metadata, save, save_all
from ._gradients import (GradientTape, checkpoint, custom_gradient, custom_op, gradcheck, gradient, hessian, hvp, implicit_root,
                         jacobian, jvp, linearize, per_sample_gradients, vjp)
from . import _spaces, nn, summary

__version__ = _core.__version__
__array_api_version__ = "2024.12"
