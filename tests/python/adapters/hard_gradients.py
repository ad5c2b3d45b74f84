"""The hard cases of tests/cases/hard.json, section B, written once for all frameworks: `n` is a namespace (la, sum, real, conj, log, sqrt, exp, mT)."""
import json

import numpy as np

from conftest import TREE

DTYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}


def against(n, w, y):
    return n.sum(n.real(n.conj(w) * y))


def adjoint(n, x):
    return n.mT(n.conj(x))


def scaled(x, s):
    return x * s[..., None, :]


def eigh_function(f):
    def loss(n, a, w):
        return n.la.through_eigh(a, lambda l, v: against(n, w, scaled(v, n.like(f(n, l), v)) @ adjoint(n, v)))
    return loss


def low_rank(n, u, s, vh):
    return scaled(u[..., :2], n.like(s[..., :2], u)) @ vh[..., :2, :]


# Losses of the factors, with the function that follows.
THROUGH = {
    "sum_S": lambda n, a: n.la.through_svd(a, lambda u, s, vh: n.sum(s)),
    "sum_S2": lambda n, a: n.la.through_svd(a, lambda u, s, vh: n.sum(s * s)),
    "recon": lambda n, a, t: n.la.through_svd(a, lambda u, s, vh: (lambda off: n.sum(n.real(n.conj(off) * off)))(
        scaled(u, n.like(s, u)) @ vh - t)),
    "polar": lambda n, a, w: n.la.through_svd(a, lambda u, s, vh: against(n, w, u @ vh)),
    "projU_2": lambda n, a, w: n.la.through_svd(a, lambda u, s, vh: against(n, w, u[..., :2] @ adjoint(n, u[..., :2]))),
    "lowrank_2": lambda n, a, w: n.la.through_svd(a, lambda u, s, vh: against(n, w, low_rank(n, u, s, vh))),
    "logdet_svd": lambda n, a: n.la.through_svd(a, lambda u, s, vh: n.sum(n.log(s))),
    "sumU2W": lambda n, a, w: n.la.through_svd(a, lambda u, s, vh: n.sum(w * u * u)),
    "sum_eighV": lambda n, a: n.la.through_eigh(a, lambda l, v: n.sum(v)),
    "eig_sum": lambda n, a: n.la.through_eigh(a, lambda l, v: n.sum(l)),
    "eig_sum2": lambda n, a: n.la.through_eigh(a, lambda l, v: n.sum(l * l)),
    "logdet_eigh": lambda n, a: n.la.through_eigh(a, lambda l, v: n.sum(n.log(l))),
    "projEig_2": lambda n, a, w: n.la.through_eigh(a, lambda l, v: against(n, w, v[..., -2:] @ adjoint(n, v[..., -2:]))),
    "sqrt_eigh": eigh_function(lambda n, l: n.sqrt(l)),
    "log_eigh": eigh_function(lambda n, l: n.log(l)),
    "invsqrt_eigh": eigh_function(lambda n, l: 1 / n.sqrt(l)),
}
# The same by functions of matrices, and losses that have no factors.
FUNCTIONS = {
    "nuc": lambda n, a: n.la.matrix_norm(a, ord="nuc"),
    "sum_S": lambda n, a: n.sum(n.la.svdvals(a)),
    "sum_S_vals": lambda n, a: n.sum(n.la.svdvals(a)),
    "sum_S2": lambda n, a: n.la.matrix_norm(a) ** 2,
    "polar": lambda n, a, w: against(n, w, n.la.polar(a)[0]),
    "projU_2": lambda n, a, w: against(n, w, n.la.projector(n.la.low_rank(a, 2))),
    "lowrank_2": lambda n, a, w: against(n, w, n.la.low_rank(a, 2)),
    "projEig_2": lambda n, a, w: against(n, w, n.la.projector(n.la.low_rank(a, 2))),
    "logdet_svd": lambda n, a: n.la.slogdet(a)[1],
    "logdet_eigh": lambda n, a: n.la.logdet(a),
    "logabsdet": lambda n, a: n.la.slogdet(a)[1],
    "eig_sum": lambda n, a: n.sum(n.la.eigvalsh(a)),
    "eig_sum2": lambda n, a: n.sum(n.la.eigvalsh(a) ** 2),
    "invsqrt_eigh": lambda n, a, w: against(n, w, n.la.matrix_power(a, -0.5)),
    "sqrt_eigh": lambda n, a, w: against(n, w, n.la.sqrtm(a)),
    "sqrtm_W": lambda n, a, w: against(n, w, n.la.sqrtm(a)),
    "log_eigh": lambda n, a, w: against(n, w, n.la.logm(a)),
    "expm_W": lambda n, a, w: against(n, w, n.la.expm(a)),
    "chol_logdet": lambda n, a: 2 * n.sum(n.log(n.diagonal(n.la.cholesky(a)))),
    "det": lambda n, a: n.la.det(a),
    "lstsq_W": lambda n, a, b, w: against(n, w, n.la.lstsq(a, b)),
    "qr_R2": lambda n, a: (lambda r: n.sum(n.real(n.conj(r) * r)))(n.la.qr(a)[1]),
    "sqrt_sumsq": lambda n, a: n.la.vector_norm(a),
}
# Functions of a symmetric positive definite matrix, for differences.
CHECKED = {
    "inv": lambda n, a: n.la.inv(a), "solve": lambda n, a: n.la.solve(a, a[..., :1] * 2), "pinv": lambda n, a: n.la.pinv(a[..., :2]),
    "lstsq": lambda n, a: n.la.lstsq(a[..., :2], a[..., 2:]), "svdvals": lambda n, a: n.la.svdvals(a), "eigvalsh": lambda n, a: n.la.eigvalsh(a),
    "cholesky": lambda n, a: n.la.cholesky(a), "logdet": lambda n, a: n.la.logdet(a), "slogdet": lambda n, a: n.la.slogdet(a)[1],
    "det": lambda n, a: n.la.det(a), "qr": lambda n, a: n.la.qr(a)[1], "polar": lambda n, a: n.la.polar(a)[0], "sqrtm": lambda n, a: n.la.sqrtm(a),
    "expm": lambda n, a: n.la.expm(a / 8), "logm": lambda n, a: n.la.logm(a), "matrix_norm": lambda n, a: n.la.matrix_norm(a),
    "svd": lambda n, a: (lambda f: scaled(f.U, f.S) @ f.Vh @ a)(n.la.svd(a, full_matrices=False)),
    "eigh": lambda n, a: (lambda f: scaled(f.eigenvectors, f.eigenvalues**2) @ n.mT(f.eigenvectors))(n.la.eigh(a)),
    "ridge": lambda n, a: n.la.solve(a, a[..., :1], ridge=0.5), "diagnosed": lambda n, a: n.la.diagnosed.inv(a)[0],
    "eigh_apply": lambda n, a: n.la.eigh_apply(a, lambda w: n.log(w) * w), "svd_apply": lambda n, a: n.la.svd_apply(a, lambda s: s * s),
    "through_svd": lambda n, a: n.la.through_svd(a, lambda u, s, vh: n.sum((scaled(u, n.sqrt(s)) @ vh) ** 2)),
    "through_eigh": lambda n, a: n.la.through_eigh(a, lambda w, v: (scaled(v, n.log(w)) @ n.mT(v))[..., 0]),
}
FOLLOWED = {"eigh_apply", "svd_apply", "through_svd", "through_eigh"}  # with a function of the framework
ELEMENTWISE = {"where_div", "pow_x_y", "normalize"}  # no linear algebra in them: the frameworks' own derivatives


def pinv_at_ties():
    """A, W and the gradient of ⟨W, A⁺⟩: with A = c Q and orthonormal columns, A⁺ = Qᵀ/c and Ḡ = −A⁺ᵀ W A⁺ᵀ + (1 − Q Qᵀ) Wᵀ / c² (Golub & Pereyra 1973)."""
    for q, c in ((np.eye(2), 2.0), (np.array([[2.0, -1.0], [2.0, 2.0], [-1.0, 2.0]]) / 3, 5.0)):
        w = np.arange(1.0, 1 + q.size).reshape(q.shape[::-1]) ** 2
        yield c * q, w, -q @ w @ q / c**2 + (np.eye(len(q)) - q @ q.T) @ w.T / c**2


def numbers(texts, shape, complex_):
    v = np.array([float.fromhex(t) if "0x" in t else float(t) for t in texts])
    return (v[::2] + 1j * v[1::2] if complex_ else v).reshape(shape)


def cases():
    for c in json.loads((TREE / "tests" / "cases" / "hard.json").read_text())["cases"]:
        if c["section"] != "B" or c["op"] in ELEMENTWISE:
            continue
        for way, table in (("function", FUNCTIONS), ("through", THROUGH)):
            if c["op"] in table:
                yield c, table[c["op"]], f"{c['id'][2:]}/{way}"
        assert c["op"] in FUNCTIONS or c["op"] in THROUGH, c["op"]


def needs_more_than_cotangents(c):
    """qr of a matrix with dependent columns: Q is a choice there, and a rule of a framework sees only cotangents. It refuses."""
    return c["op"] == "qr_R2" and "rankdef" in c["id"]


def inputs(c):
    out = []
    for t in c["inputs"]:
        dtype = DTYPES[t["dtype"]]
        out.append(numbers(t["hex"], t["shape"], dtype in (np.complex64, np.complex128)).astype(dtype))
    return out


def judge(c, a, got):
    """Whether a gradient is the exact one."""
    params, check = c.get("params") or {}, c.get("check") or ""
    got = np.asarray(got)
    if check.startswith("subgrad"):
        norm, dual = (np.linalg.norm(a, "nuc"), np.linalg.norm(got, 2)) if check == "subgrad_nuc" else (np.linalg.norm(a), np.linalg.norm(got))
        assert dual <= 1 + 1e-12 and abs((got * a).sum() - norm) <= 1e-12 * max(norm, 1), got
        return
    want = numbers(c["exact"]["dec"], c["exact"]["shape"], c["exact"].get("cplx", False))
    if params.get("symmetrize"):
        got, want = (got + got.T) / 2, (want + want.T) / 2
    scale = np.abs(want).max() or float(params.get("gradscale", 1))
    assert np.abs(got - want).max() / scale <= c["tol"], (c["id"], got, want)
