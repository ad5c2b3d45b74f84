// Python's operators: + - * / // % ** @ & | ^ << >> with reflected and in-place forms, comparisons, abs.
#include "ops/dispatch.hpp"
#include "python.hpp"

namespace wp::python {
namespace {

// Python's data model names these operators; the op table has an op of each name.
enum Operator {
  op_add,
  op_subtract,
  op_multiply,
  op_divide,
  op_floor_divide,
  op_remainder,
  op_pow,
  op_matmul,
  op_and,
  op_or,
  op_xor,
  op_left,
  op_right,
  op_less,
  op_less_equal,
  op_equal,
  op_not_equal,
  op_greater,
  op_greater_equal,
  op_negative,
  op_positive,
  op_invert,
  op_abs,
  operator_count
};
constexpr const char* names[operator_count] = {"add",
                                               "subtract",
                                               "multiply",
                                               "divide",
                                               "floor_divide",
                                               "remainder",
                                               "pow",
                                               "matmul",
                                               "bitwise_and",
                                               "bitwise_or",
                                               "bitwise_xor",
                                               "bitwise_left_shift",
                                               "bitwise_right_shift",
                                               "less",
                                               "less_equal",
                                               "equal",
                                               "not_equal",
                                               "greater",
                                               "greater_equal",
                                               "negative",
                                               "positive",
                                               "bitwise_invert",
                                               "abs"};
const Op& op_of(int k) {
  static const Op* ops[operator_count] = {};
  if (!ops[k]) [[unlikely]]
    ops[k] = find_op(names[k]);
  return *ops[k];
}

PyObject* done(Tensor&& t) {
  tell_findings();
  return wrap(std::move(t));
}

PyObject* apply(int k, const Tensor& a, const Tensor& b) {
  const Place place = here().place();
  if (a.size() + b.size() < kLarge) [[likely]] {
    const Tensor* const in[] = {&a, &b};
    return done(call1(op_of(k), Inputs(in), Attrs(), place));
  }
  const Tensor own[] = {a, b};  // other threads may give the variables other values meanwhile
  const Tensor* const in[] = {&own[0], &own[1]};
  Tensor y;
  {
    const Unlocked unlocked(true);
    y = call1(op_of(k), Inputs(in), Attrs(), place);
  }
  return done(std::move(y));
}

// The other operand: undefined if it is nothing that has elements.
const Tensor& operand(PyObject* o, Tensor& own) {
  if (is_tensor(o)) return tensor_of(o);
  if (PyUnicode_Check(o) || o == Py_None) return own;
  return own = tensor_from(o, "the operand");
}

PyObject* binary_call(int k, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    Tensor own_a, own_b;
    const Tensor &x = operand(a, own_a), &y = operand(b, own_b);
    if (!x.defined() || !y.defined()) Py_RETURN_NOTIMPLEMENTED;
    return apply(k, x, y);
  });
}
template <int K>
PyObject* binary(PyObject* a, PyObject* b) noexcept {
  return binary_call(K, a, b);
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary_call(op_pow, a, b);
}

// x += y gives the object x another value; its shape and dtype stay. Memory is used again when nobody else sees it.
PyObject* in_place_call(int k, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    Tensor own;
    const Tensor& y = operand(b, own);
    if (!y.defined()) Py_RETURN_NOTIMPLEMENTED;
    const Tensor& x = tensor_of(a);
    const Ref result(apply(k, x, y));
    const Tensor& r = tensor_of(result.get());
    if (r.dtype() != x.dtype())
      type_error(say("an in-place operator keeps the dtype of its left operand, ", x.dtype(),
                     "; the result would be ", r.dtype(), ". Write x = x ", k == op_divide ? "/" : "+",
                     " y, or convert with astype."));
    if (r.shape() != x.shape())
      value_error(say("an in-place operator keeps the shape of its left operand, ", x.shape(),
                      "; the result would be ", r.shape(), "."));
    tensor_of(a) = r;
    return Py_NewRef(a);
  });
}
template <int K>
PyObject* in_place(PyObject* a, PyObject* b) noexcept {
  return in_place_call(K, a, b);
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place_call(op_pow, a, b);
}

template <int K>
PyObject* unary(PyObject* a) noexcept {
  return guarded([&] {
    const Tensor x = tensor_of(a);
    const Tensor* const in[] = {&x};
    const Place place = here().place();
    Tensor y;
    {
      const Unlocked unlocked(x.size() >= kLarge);
      y = call1(op_of(K), Inputs(in), Attrs(), place);
    }
    return done(std::move(y));
  });
}

PyObject* compare(PyObject* a, PyObject* b, int operation) noexcept {
  constexpr int ops[] = {op_less,      op_less_equal, op_equal,
                         op_not_equal, op_greater,    op_greater_equal};  // Py_LT = 0, …
  return binary_call(ops[operation], a, b);
}

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}
const PyType_Slot slots[] = {{Py_nb_add, slot(binary<op_add>)},
                             {Py_nb_subtract, slot(binary<op_subtract>)},
                             {Py_nb_multiply, slot(binary<op_multiply>)},
                             {Py_nb_true_divide, slot(binary<op_divide>)},
                             {Py_nb_floor_divide, slot(binary<op_floor_divide>)},
                             {Py_nb_remainder, slot(binary<op_remainder>)},
                             {Py_nb_power, slot(power)},
                             {Py_nb_matrix_multiply, slot(binary<op_matmul>)},
                             {Py_nb_and, slot(binary<op_and>)},
                             {Py_nb_or, slot(binary<op_or>)},
                             {Py_nb_xor, slot(binary<op_xor>)},
                             {Py_nb_lshift, slot(binary<op_left>)},
                             {Py_nb_rshift, slot(binary<op_right>)},
                             {Py_nb_inplace_add, slot(in_place<op_add>)},
                             {Py_nb_inplace_subtract, slot(in_place<op_subtract>)},
                             {Py_nb_inplace_multiply, slot(in_place<op_multiply>)},
                             {Py_nb_inplace_true_divide, slot(in_place<op_divide>)},
                             {Py_nb_inplace_floor_divide, slot(in_place<op_floor_divide>)},
                             {Py_nb_inplace_remainder, slot(in_place<op_remainder>)},
                             {Py_nb_inplace_power, slot(in_place_power)},
                             {Py_nb_inplace_matrix_multiply, slot(in_place<op_matmul>)},
                             {Py_nb_inplace_and, slot(in_place<op_and>)},
                             {Py_nb_inplace_or, slot(in_place<op_or>)},
                             {Py_nb_inplace_xor, slot(in_place<op_xor>)},
                             {Py_nb_inplace_lshift, slot(in_place<op_left>)},
                             {Py_nb_inplace_rshift, slot(in_place<op_right>)},
                             {Py_nb_negative, slot(unary<op_negative>)},
                             {Py_nb_positive, slot(unary<op_positive>)},
                             {Py_nb_invert, slot(unary<op_invert>)},
                             {Py_nb_absolute, slot(unary<op_abs>)},
                             {Py_tp_richcompare, slot(compare)},
                             {0, nullptr}};

}  // namespace

const PyType_Slot* const operator_slots = slots;

}  // namespace wp::python
