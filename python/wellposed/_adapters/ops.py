"""What is known of the ops of other frameworks: which op of wellposed they are, and how results depend on operands."""

# wellposed's name: the names that the frameworks use (lower case, without trailing "_").
_SAME = {
    "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10", "exp": "exp", "expm1": "expm1", "exp2": "exp2",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "reciprocal": "reciprocal inv", "divide": "div realdiv truediv divide divnonan",
    "multiply": "mul multiply", "add": "add addv2 add_any biasadd", "subtract": "sub subtract rsub", "pow": "pow integer_pow",
    "square": "square", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh", "asin": "asin", "acos": "acos",
    "atanh": "atanh", "acosh": "acosh", "sigmoid": "sigmoid logistic", "lgamma": "lgamma", "digamma": "digamma",
    "erfinv": "erfinv erf_inv", "softplus": "softplus", "silu": "silu", "gelu": "gelu", "negative": "neg negative", "abs": "abs",
    "maximum": "maximum max_elementwise", "minimum": "minimum", "hypot": "hypot", "atan2": "atan2", "xlogy": "xlogy",
    "fmod": "fmod", "remainder": "remainder rem floormod", "cos": "cos", "sin": "sin", "relu": "relu", "where": "where select selectv2 select_n",
}
_WP = {name: ours for ours, names in _SAME.items() for name in names.split()}

# Results at [i, j] come from operands at [i, j] (after broadcasting); wellposed has no op of this name, or another signature.
_ELEMENTWISE = set(_WP) | set("""
clamp clip clamp_min clamp_max masked_fill threshold leaky_relu leakyrelu elu selu hardtanh hardswish mish erf erfc logit sign floor ceil round
trunc frac nan_to_num addcmul addcdiv lerp copy tanh_backward sigmoid_backward threshold_backward tanhgrad sigmoidgrad relugrad logit_backward
softplus_backward silu_backward gelu_backward hardtanh_backward elu_backward leaky_relu_backward native_dropout dropout mul_no_nan xdivy
squareddifference rsqrtgrad sqrtgrad reciprocalgrad sqrt_grad convert_element_type _to_copy to cast clone stop_gradient identity copy_p
logical_not is_finite reduce_precision cbrt nextafter cumulative conj real imag complex bernoulli _foreach_add _foreach_mul _foreach_sqrt
where_backward smooth_l1_loss huber_loss mse_loss binary_cross_entropy
""".split())

_MATRIX = set("matmul mm bmm mv dot addmm baddbmm linear dot_general batchmatmul batchmatmulv2 batchmatmulv3 einsum vdot _scaled_mm".split())
_MOVES = set("""
reshape view squeeze unsqueeze expand permute transpose t slice select narrow cat concat concatv2 stack pack unpack split splitv index
index_select gather gatherv2 gathernd resourcegather embedding take flip roll repeat tile pad padv2 diag diagonal tril triu broadcast_in_dim
broadcastto concatenate dynamic_slice dynamic_update_slice rev stridedslice expanddims index_put scatter fill fill_ full full_like
constant_pad_nd detach alias unbind chunk unsafe_view _unsafe_view _reshape_alias expand_dims copy_to placeholder
_local_scalar_dense item slice_scatter select_scatter as_strided pixel_shuffle sort topk
""".split())
_CREATES = set("full full_like fill constant iota scalar_tensor new_full zeros ones eye arange linspace const broadcast readvariableop".split())


class Kind:
    """What an op is: `ours` is wellposed's op of the same meaning, or None."""
    __slots__ = ("name", "ours", "family")

    def __init__(self, name, ours, family):
        self.name, self.ours, self.family = name, ours, family


_known = {}


def kind_of(name):
    """`name`: without namespace and overload, as the framework writes it."""
    found = _known.get(name)
    if found is None:
        low = name.lower()
        key = low if low in _ELEMENTWISE or low in _MATRIX or low in _MOVES else low.rstrip("_")
        family = ("elementwise" if key in _ELEMENTWISE else "matrix" if key in _MATRIX else
                  "creates" if key in _CREATES else "moves" if key in _MOVES else "other")
        found = _known[name] = Kind(name, _WP.get(key), family)
    return found
