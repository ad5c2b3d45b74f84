"""Linear algebra that says how good its answer is."""
import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from .. import Tensor, _Array, _DType, _Int, _Ints, _Number, _Real, DType
from .. import matmul as matmul, matrix_transpose as matrix_transpose, tensordot as tensordot, vecdot as vecdot
from . import diagnosed as diagnosed

class Cluster:
    first: int
    last: int
    low: float
    high: float

class Member:
    status: str
    exactly_singular: bool
    rcond: float
    cond: float
    rank: int
    rank_threshold: float
    rank_gap: float
    rank_doubt: str
    structure: str
    method: str
    digits: float
    forward_error: float
    backward_error: float
    certified: bool
    ridge: float
    freedom: float
    growth: float
    null_vector: Tensor | None
    dependent: str
    dependent_columns: str
    clusters: list[Cluster]
    value_error: Tensor | None
    vector_error: Tensor | None
    eigenvalue_condition: Tensor | None
    message: str

class Diagnosis:
    batch: tuple[int, ...]
    ok: bool
    worst: int
    status: Any
    rcond: Tensor
    cond: Tensor
    rank: Tensor
    digits: Tensor
    forward_error: Tensor
    backward_error: Tensor
    growth: Tensor
    ridge: Tensor
    exactly_singular: Tensor
    certified: Tensor
    structure: Any
    method: Any
    rank_threshold: Any
    rank_gap: Any
    rank_doubt: Any
    null_vector: Any
    dependent: Any
    dependent_columns: Any
    clusters: Any
    value_error: Any
    vector_error: Any
    eigenvalue_condition: Any
    freedom: Any
    message: Any
    matrix_of_worst: Tensor | None
    def __len__(self) -> int: ...
    def __getitem__(self, member: int) -> Member: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

class FactoredParts:
    method: str
    P: Tensor | None
    L: Tensor | None
    D: Tensor | None
    U: Tensor | None
    Q: Tensor | None
    S: Tensor | None
    Vh: Tensor | None
    row_scale: Tensor | None
    column_scale: Tensor | None

class Factored:
    matrix: Tensor
    diagnosis: Diagnosis
    rank: Tensor
    cond: Tensor
    decompositions: int
    def parts(self) -> FactoredParts: ...
    def solve(self, b: _Array, *, adjoint: bool = False, transposed: bool = False) -> Tensor: ...
    def diagnosed_solve(self, b: _Array, *, adjoint: bool = False, transposed: bool = False) -> tuple[Tensor, Diagnosis]: ...
    def lstsq(self, b: _Array) -> Tensor: ...
    def inv(self) -> Tensor: ...
    def diagnosed_inv(self) -> tuple[Tensor, Diagnosis]: ...
    def pinv(self) -> Tensor: ...
    def det(self) -> Tensor: ...
    def slogdet(self) -> tuple[Tensor, Tensor]: ...
    def logdet(self) -> Tensor: ...

def factored(a: _Array, *, method: str = "auto", if_ill: str = "raise", ridge: float | str | None = None, noise: float = 0.0,
             shift: float = 0.0, assume: str = "detect", refine: bool | None = None, certify: bool = False,
             min_digits: float | None = None, names: Sequence[str] | None = None, accuracy: str = "normal",
             rtol: float | None = None, atol: float = 0.0) -> Factored: ...

_Map = Callable[[Tensor], Tensor]

class LinearOperator:
    @overload
    def __init__(self, rows: int, columns: int, dtype: _DType, apply: _Map, adjoint: _Map | None = None) -> None: ...
    @overload
    def __init__(self, matrix: _Array) -> None: ...
    @staticmethod
    def csr(indptr: _Array, indices: _Array, data: _Array, rows: int, columns: int) -> LinearOperator: ...
    rows: int
    columns: int
    shape: tuple[int, int]
    dtype: DType
    has_adjoint: bool
    def __call__(self, x: Tensor) -> Tensor: ...
    def apply_adjoint(self, y: Tensor) -> Tensor: ...
    def adjoint(self) -> LinearOperator: ...
    def __add__(self, other: LinearOperator) -> LinearOperator: ...
    @overload
    def __matmul__(self, other: LinearOperator) -> LinearOperator: ...
    @overload
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mul__(self, factor: float) -> LinearOperator: ...
    def __rmul__(self, factor: float) -> LinearOperator: ...

class IterativeResult:
    x: Tensor
    status: str
    iterations: int
    residuals: list[float]
    residual: float
    normal_residual: float
    target: float
    condition: float
    forward_error: float
    digits: float
    message: str

_Operator = LinearOperator | Tensor
_Progress = Callable[[int, float], None]

def cg(a: _Operator, b: _Array, *, rtol: float | None = None, atol: float = 0.0, max_iterations: int | None = None,
       x0: _Array | None = None, preconditioner: _Operator | None = None, if_ill: str = "raise",
       progress: _Progress | None = None, judge: bool = True) -> IterativeResult: ...
def gmres(a: _Operator, b: _Array, *, rtol: float | None = None, atol: float = 0.0, max_iterations: int | None = None,
          x0: _Array | None = None, preconditioner: _Operator | None = None, if_ill: str = "raise",
          progress: _Progress | None = None, judge: bool = True, restart: int = 30) -> IterativeResult: ...
def lsmr(a: _Operator, b: _Array, *, rtol: float | None = None, atol: float = 0.0, max_iterations: int | None = None,
         x0: _Array | None = None, preconditioner: _Operator | None = None, if_ill: str = "raise",
         progress: _Progress | None = None, judge: bool = True, damp: float = 0.0) -> IterativeResult: ...
def eigh_apply(x: _Array, f: _Map) -> Tensor: ...
def svd_apply(x: _Array, f: _Map) -> Tensor: ...
def through_svd(x: Tensor, f: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor: ...
def through_eigh(x: Tensor, f: Callable[[Tensor, Tensor], Tensor]) -> Tensor: ...

# @functions@
