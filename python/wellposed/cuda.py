"""What error texts of cuSOLVER, cuBLAS and the frameworks above them mean. Works on the text alone."""
import re


class Explanation:
    """`meaning` and `advice` in words; `matrix`: the member of a batch that the text names (None: it names none); `info`: its code."""

    def __init__(self, library: str, status: str, meaning: str, advice: str, matrix: int | None = None, info: int | None = None) -> None:
        self.library, self.status, self.meaning, self.advice, self.matrix, self.info = library, status, meaning, advice, matrix, info

    def text(self) -> str:
        which = "" if self.matrix is None else f" It is about matrix {self.matrix} of the batch."
        return f"{self.library} {self.status}: {self.meaning}{which} {self.advice}"

    def __repr__(self) -> str:
        return self.text()


_LINALG = ("Look at the matrix: wellposed.{torch,tensorflow,jax}.linalg.diagnosed.inv(A.cpu()) tells rank, condition and the rows that depend on each "
           "other; pinv, ridge = … or if_ill = \"nan\" go on where there is no inverse.")
# What a status means, what to do, and the words that XLA and jaxlib write for it after "cuSolver" or "cuBlas".
_STATUS = {
    "NOT_INITIALIZED": (
        "the library could not be set up; nothing was computed, so no matrix is to blame. Nearly always the memory of the GPU was full when the handle was "
        "made, or an op before failed: a label or index out of range.",
        "Free memory or let the framework take less (tf.config.experimental.set_memory_growth, XLA_PYTHON_CLIENT_PREALLOCATE=false); run with "
        "CUDA_LAUNCH_BLOCKING=1, or once on the CPU, where an index is named; then check that the driver fits the CUDA version.", "has not been initialized"),
    "ALLOC_FAILED": ("the GPU had no memory left for the work space.", "Use smaller batches, or solve on the CPU.", "allocation fail"),
    "INVALID_VALUE": (
        "a size or a leading dimension is not allowed: an empty matrix, or one with more than 2³¹ − 1 elements. NaN in the matrix gives this in some "
        "versions of cuSOLVER.", "Check shapes first, then that every element is finite.", "invalid value"),
    "ARCH_MISMATCH": ("the GPU is too old for this function.", "Compute on the CPU.", "architecture mismatch"),
    "MAPPING_ERROR": ("memory of the GPU could not be reached; an earlier error corrupted the context.",
                      "Run with CUDA_LAUNCH_BLOCKING=1 and look at the first error.", "mapping error"),
    "EXECUTION_FAILED": (
        "a kernel failed on the GPU. Errors there are told late: an op before this one may be the cause (an index out of range most of all).",
        "Run again with CUDA_LAUNCH_BLOCKING=1: the error is then told at its own op; look for NaN or Inf in the arguments.", "execution failed"),
    "INTERNAL_ERROR": (
        "the library gave up. Seen with NaN or Inf in the matrix, with full memory, and after an earlier error on the same stream.",
        "Check that the matrix is finite, that memory is left, and run with CUDA_LAUNCH_BLOCKING=1.", "internal error"),
    "MATRIX_TYPE_NOT_SUPPORTED": ("the kind of matrix is not supported by this function.", "Use a dense, general matrix.", "matrix type not supported"),
    "NOT_SUPPORTED": ("this combination of types and layouts has no kernel.", "Make the operands contiguous, or compute in f32.", "not supported"),
    "ZERO_PIVOT": ("elimination met a pivot that is exactly 0: the matrix is singular, or so near it that rounding made it so.", _LINALG, "zero pivot"),
    "INVALID_LICENSE": ("the library does not find its license.", "Install the CUDA toolkit again.", r"(?:invalid )?license"),
}
_SAME = {"IRS_MATRIX_SINGULAR": "ZERO_PIVOT", "IRS_INTERNAL_ERROR": "INTERNAL_ERROR", "IRS_NOT_SUPPORTED": "NOT_SUPPORTED", "INVALID_WORKSPACE": "INVALID_VALUE",
         "LICENSE_ERROR": "INVALID_LICENSE"}  # other names that begin with IRS_ are about options: INVALID_VALUE
# cusolverStatus_t (cusolver_common.h) and cublasStatus_t (cublas_api.h).
_NUMBERS = {
    "cuSOLVER": {1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH", 5: "MAPPING_ERROR", 6: "EXECUTION_FAILED", 7: "INTERNAL_ERROR",
                 8: "MATRIX_TYPE_NOT_SUPPORTED", 9: "NOT_SUPPORTED", 10: "ZERO_PIVOT", 11: "INVALID_LICENSE", 12: "IRS_PARAMS_NOT_INITIALIZED",
                 13: "IRS_PARAMS_INVALID", 14: "IRS_PARAMS_INVALID_PREC", 15: "IRS_PARAMS_INVALID_REFINE", 16: "IRS_PARAMS_INVALID_MAXITER",
                 20: "IRS_INTERNAL_ERROR", 21: "IRS_NOT_SUPPORTED", 22: "IRS_OUT_OF_RANGE", 23: "IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES",
                 25: "IRS_INFOS_NOT_INITIALIZED", 26: "IRS_INFOS_NOT_DESTROYED", 30: "IRS_MATRIX_SINGULAR", 31: "INVALID_WORKSPACE"},
    "cuBLAS": {1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR", 13: "EXECUTION_FAILED",
               14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED", 16: "LICENSE_ERROR"}}
_LIBRARIES = {"cusolver": "cuSOLVER", "cublas": "cuBLAS"}
_NAMED = re.compile(r"\b(CUSOLVER|CUBLAS)_STATUS_([A-Z_]+)", re.I)
_NUMBERED = re.compile(r"\b(cusolver|cublas)(?:DN|LT)?\b[^\n\d]{0,40}?(?:status|error)[ :=]+(\d+)", re.I)
_WORDED = re.compile(r"\b(cusolver|cublas) (?:" + "|".join(f"(?P<{name}>{words})" for name, (_, _, words) in _STATUS.items()) + ")", re.I)
_CREATED = re.compile(r"Failed to create (cusolver|cublas)\w* (?:instance|handle)", re.I)
_LAUNCHED = re.compile(r"\b(?:cu)?Blas (?:x?GEMM|GEMV|SCAL|DOT)\w* launch failed", re.I)


def _status(text: str) -> tuple[str, str] | None:
    """(library, status) that a text names by name, by number or by words."""
    if found := _NAMED.search(text):
        return _LIBRARIES[found[1].lower()], found[2].upper()
    if found := _WORDED.search(text):
        return _LIBRARIES[found[1].lower()], str(found.lastgroup)
    if found := _NUMBERED.search(text):
        library = _LIBRARIES[found[1].lower()]
        return library, _NUMBERS[library].get(int(found[2]), "")
    if found := _CREATED.search(text):
        return _LIBRARIES[found[1].lower()], "NOT_INITIALIZED"
    return ("cuBLAS", "EXECUTION_FAILED") if _LAUNCHED.search(text) else None


_BATCH = re.compile(r"\(Batch element (\d+)\)")
_TEXTS = (
    (re.compile(r"The diagonal element (\d+) is zero, the (?:inversion|solve) could not be completed because the input matrix is singular|"
                r"U\[?\(?(\d+)[,)]? ?\d*[\])]? is (?:exactly )?zero|input matrix is singular|Input is not invertible|Input matrix is not invertible", re.I),
     "singular", "LU met a pivot that is exactly 0: the matrix is singular, or so near it that rounding made it so. Matrices that are nearly singular pass "
     "this test and give numbers without a right digit.", _LINALG),
    (re.compile(r"leading minor of order (\d+) is not positive.definite|Cholesky decomposition was not successful|input is not positive.definite", re.I),
     "not positive definite", "a Cholesky factor does not exist: an eigenvalue is zero or negative, by rounding or because the matrix is no covariance.",
     "cholesky of A + shift·I, nearest_spd(A), or wellposed's cholesky, which names the leading minor and the smallest eigenvalue."),
    (re.compile(r"\b(?:svd|eigh?|eigvals\w*|eigenvalues?|eigenvectors?|eigendecomposition|(?:gesvd|syev|heev|geev)\w*|linalg\.\w+)\b[^\n]{0,200}?"
                r"(?:failed to converge|did(?: not|n't) converge|was not successful)|gesvd\w* failed", re.I),
     "not converged", "the iteration did not end: NaN or Inf in the matrix, or (gesvdj) very close singular values.",
     "Check that every element is finite; else use another driver (gesvd), or compute on the CPU in f64."),
    (re.compile(r"device-side assert triggered", re.I), "device-side assert",
     "a kernel found an index out of range (embedding, gather, labels of a loss). The op named in the error is only the first that noticed.",
     "Run the same batch on the CPU, where index, element and row are named, or with CUDA_LAUNCH_BLOCKING=1."),
    (re.compile(r"an illegal memory access was encountered", re.I), "illegal memory access",
     "a kernel read or wrote outside its arrays; the op named is only the first that noticed.", "Run with CUDA_LAUNCH_BLOCKING=1, or compute-sanitizer."),
    (re.compile(r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED.*GPU", re.I), "out of memory",
     "the GPU has not enough memory left.", "Use smaller batches, or half precision for what can bear it."),
)


def explain(text: str) -> Explanation | None:
    """An Explanation of an error text of cuSOLVER, cuBLAS, or of a framework that speaks for them; None: it is something else."""
    batch = _BATCH.search(text)
    member = int(batch.group(1)) if batch else None
    found = _status(text)
    if found is not None:
        name = _SAME.get(found[1], "INVALID_VALUE" if found[1].startswith("IRS_") else found[1])
        if name in _STATUS:
            return Explanation(*found, *_STATUS[name][:2], member)
    for pattern, status, meaning, advice in _TEXTS:
        said = pattern.search(text)
        if said:
            info = next((int(g) for g in said.groups() if g), None)
            return Explanation("CUDA" if status in ("device-side assert", "illegal memory access", "out of memory") else "linear algebra", status,
                               meaning, advice, member, info)
    return None
