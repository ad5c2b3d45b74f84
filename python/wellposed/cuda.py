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
_FAMILIES = (
    (r"CUSOLVER_STATUS_NOT_INITIALIZED|Failed to create (?:cuSolverDN|cusolver\w*) instance|cusolver_status_not_initialized",
     "cuSOLVER", "NOT_INITIALIZED", "the library could not be set up; nothing was computed, so no matrix is to blame. Nearly always the memory of the "
     "GPU was full when the handle was made.",
     "Free memory or let the framework take less (tf.config.experimental.set_memory_growth, XLA_PYTHON_CLIENT_PREALLOCATE=false), then check that the "
     "driver fits the CUDA version."),
    (r"CUSOLVER_STATUS_ALLOC_FAILED|CUBLAS_STATUS_ALLOC_FAILED", None, "ALLOC_FAILED", "the GPU had no memory left for the work space.",
     "Use smaller batches, or solve on the CPU."),
    (r"CUSOLVER_STATUS_INVALID_VALUE|CUBLAS_STATUS_INVALID_VALUE", None, "INVALID_VALUE",
     "a size or a leading dimension is not allowed: an empty matrix, or one with more than 2³¹ − 1 elements. NaN in the matrix gives this in some versions of cuSOLVER.",
     "Check shapes first, then that every element is finite."),
    (r"CUSOLVER_STATUS_EXECUTION_FAILED|CUBLAS_STATUS_EXECUTION_FAILED", None, "EXECUTION_FAILED",
     "a kernel failed on the GPU. Errors there are told late: an op before this one may be the cause (an index out of range most of all).",
     "Run again with CUDA_LAUNCH_BLOCKING=1: the error is then told at its own op; look for NaN or Inf in the arguments."),
    (r"CUSOLVER_STATUS_INTERNAL_ERROR|CUBLAS_STATUS_INTERNAL_ERROR", None, "INTERNAL_ERROR",
     "the library gave up. Seen with NaN or Inf in the matrix, with full memory, and after an earlier error on the same stream.",
     "Check that the matrix is finite, that memory is left, and run with CUDA_LAUNCH_BLOCKING=1."),
    (r"CUSOLVER_STATUS_ARCH_MISMATCH|CUBLAS_STATUS_ARCH_MISMATCH", None, "ARCH_MISMATCH", "the GPU is too old for this function.", "Compute on the CPU."),
    (r"CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "cuSOLVER", "MATRIX_TYPE_NOT_SUPPORTED", "the kind of matrix is not supported by this function.",
     "Use a dense, general matrix."),
    (r"CUBLAS_STATUS_NOT_SUPPORTED", "cuBLAS", "NOT_SUPPORTED", "this combination of types and layouts has no kernel.",
     "Make the operands contiguous, or compute in f32."),
    (r"CUBLAS_STATUS_NOT_INITIALIZED", "cuBLAS", "NOT_INITIALIZED",
     "the handle could not be made. Either memory was full, or an op before failed: a label or index out of range is the usual cause.",
     "Run on the CPU once, where the index is named, or with CUDA_LAUNCH_BLOCKING=1."),
    (r"CUBLAS_STATUS_MAPPING_ERROR", "cuBLAS", "MAPPING_ERROR", "memory of the GPU could not be reached; an earlier error corrupted the context.",
     "Run with CUDA_LAUNCH_BLOCKING=1 and look at the first error."),
)
_BATCH = re.compile(r"\(Batch element (\d+)\)")
_TEXTS = (
    (re.compile(r"The diagonal element (\d+) is zero, the (?:inversion|solve) could not be completed because the input matrix is singular|"
                r"U\[?\(?(\d+)[,)]? ?\d*[\])]? is (?:exactly )?zero|input matrix is singular|Input is not invertible|Input matrix is not invertible", re.I),
     "singular", "LU met a pivot that is exactly 0: the matrix is singular, or so near it that rounding made it so. Matrices that are nearly singular pass "
     "this test and give numbers without a right digit.", _LINALG),
    (re.compile(r"leading minor of order (\d+) is not positive.definite|Cholesky decomposition was not successful|input is not positive.definite", re.I),
     "not positive definite", "a Cholesky factor does not exist: an eigenvalue is zero or negative, by rounding or because the matrix is no covariance.",
     "cholesky of A + shift·I, nearest_spd(A), or wellposed's cholesky, which names the leading minor and the smallest eigenvalue."),
    (re.compile(r"(?:svd|eigh|eig|linalg\.\w+).*failed to converge|did not converge|gesvd\w* failed", re.I),
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
    for pattern, library, status, meaning, advice in _FAMILIES:
        found = re.search(pattern, text, re.I)
        if found:
            return Explanation(library or ("cuBLAS" if "CUBLAS" in found.group(0).upper() else "cuSOLVER"), status, meaning, advice, member)
    for pattern, status, meaning, advice in _TEXTS:
        found = pattern.search(text)
        if found:
            info = next((int(g) for g in found.groups() if g), None)
            return Explanation("CUDA" if status in ("device-side assert", "illegal memory access", "out of memory") else "linear algebra", status,
                               meaning, advice, member, info)
    return None
