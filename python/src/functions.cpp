// The functions of the op table: one C function serves them all. Arguments are matched with the op's parameters,
// turned into tensors and attributes, and the op is called.
#include <algorithm>
#include <limits>

#include "bind.hpp"
#include "ops/dispatch.hpp"
#include "ops/follower.hpp"
#include "signature.hpp"

namespace wp::python {

std::optional<std::vector<std::string>> labels_of(PyObject* o) {
  if (!o || is_tensor(o) || !PyObject_HasAttrString(o, "columns") || !PyObject_HasAttrString(o, "index")) return {};
  const Ref columns(PyObject_GetAttrString(o, "columns"));
  const Ref all(columns ? PySequence_List(columns.get()) : nullptr);
  PyErr_Clear();
  if (!all) return {};
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i)
    out.emplace_back(text_of(Ref::checked(PyObject_Str(PyList_GET_ITEM(all.get(), i))).get()));
  return out;
}

namespace {

constexpr std::size_t kMost = 24;  // parameters of one function

// Which diagonal: one that 64 bits do not hold lies beyond every matrix, as the last one that they hold does.
std::int64_t diagonal_of(PyObject* o, std::string_view what) {
  int beyond = 0;
  if (PyLong_Check(o)) (void)PyLong_AsLongLongAndOverflow(o, &beyond);
  if (beyond) return beyond > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  return integer_of(o, what);
}

// An attribute is a number: what it was computed from would be lost without a word.
void refuse_followed(PyObject* o, std::string_view function, std::string_view name) {
  if (is_tensor(o) && followed(tensor_of(o)))
    raise<GradientError>("WP-GRD-001", std::string(function),
                         say(name, " is a number to ", function, ", and has no derivative there: that of the tensor ",
                             "which was given would be lost."),
                         "Compute with tensors (broadcast_to(x, shape), x * ones(shape)), or give float(x), where it "
                         "is meant as a constant.");
}

}  // namespace

Attr attribute_of(PyObject* o, const AttrSpec& a, std::string_view function) {
  if (o == Py_None && (!a.fallback || a.nullable) && !a.required) return {};
  const auto what = [&] { return say(function, ": ", a.name); };
  switch (a.type) {
    case AttrType::boolean:
      if (PyBool_Check(o)) return o == Py_True;
      if (is_tensor(o) || Py_TYPE(o)->tp_name == std::string_view("numpy.bool")) return PyObject_IsTrue(o) == 1;
      type_error(say(what(), " must be True or False; got ", type_name(o), "."));
    case AttrType::integer:
      return (a.name == "k" || a.name == "offset") && a.fallback ? diagonal_of(o, what()) : integer_of(o, what());
    case AttrType::real: {
      refuse_followed(o, function, a.name);
      const Scalar s = scalar_of(o, what());
      if (s.kind() == Scalar::Kind::complex) type_error(say(what(), " must be a real number; got complex."));
      return s.real();
    }
    case AttrType::scalar: refuse_followed(o, function, a.name); return scalar_of(o, what());
    case AttrType::dtype: return dtype_of(o, what().c_str());
    case AttrType::ints: return ints_of(o, what());
    case AttrType::text: {
      if (!PyUnicode_Check(o)) type_error(say(what(), " must be a str; got ", type_name(o), "."));
      return Attr(intern(text_of(o)));
    }
    case AttrType::setting:
      if (PyUnicode_Check(o)) return Setting(text_of(o));
      refuse_followed(o, function, a.name);
      return Setting(scalar_of(o, what()).real());
    case AttrType::texts: {
      const Ref all(PyUnicode_Check(o) ? nullptr : PySequence_List(o));
      PyErr_Clear();
      if (!all) type_error(say(what(), " must be a list of str; got ", type_name(o), "."));
      std::vector<std::string> out;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i)
        out.emplace_back(text_of(Ref::checked(PyObject_Str(PyList_GET_ITEM(all.get(), i))).get()));
      return out;
    }
    default: type_error(say(what(), " cannot be given from Python."));
  }
}

namespace {

// The arguments of one call.
struct Arguments {
  const Function& f;
  PyObject* given[kMost] = {};
  PyObject* const* rest = nullptr;  // of the variadic parameter
  Py_ssize_t rest_count = 0;
  Ref unpacked;

  explicit Arguments(const Function& function) : f(function) {}

  void match(PyObject* const* args, Py_ssize_t count, PyObject* names) {
    std::size_t placed = static_cast<std::size_t>(count);
    if (f.variadic >= 0) {
      placed = std::min(placed, f.positional);
      take_rest(args + placed, count - static_cast<Py_ssize_t>(placed));
    } else if (placed > f.positional) {
      const std::string named = listed(true);
      type_error(say(f.name, " takes ", plural(static_cast<std::int64_t>(f.positional), "positional argument"),
                     "; got ", count, named.empty() ? "." : say(". Given by name: ", named, ".")));
    }
    // Parameters that may be placed come first, but for the variadic one.
    std::size_t at = 0;
    for (std::size_t i = 0; i < placed; ++i, ++at) {
      if (static_cast<int>(at) == f.variadic) ++at;
      given[at] = args[i];
    }
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) by_name(PyTuple_GET_ITEM(names, i), args[count + i]);
    for (std::size_t i = 0; i < f.parameters.size(); ++i)
      if (!given[i] && f.parameters[i].required) [[unlikely]]
        type_error(say(f.name, ": argument ", text_of(f.parameters[i].name), " is missing."));
  }

 private:
  // f(a, b, c), or f([a, b, c]).
  void take_rest(PyObject* const* args, Py_ssize_t count) {
    rest = args;
    rest_count = count;
    if (count == 1 && (PyList_Check(args[0]) || PyTuple_Check(args[0]))) {
      unpacked = Ref::borrowed(args[0]);
      rest = PySequence_Fast_ITEMS(args[0]);
      rest_count = PySequence_Fast_GET_SIZE(args[0]);
    }
  }
  // The parameters that may be given by name, or those that must be.
  std::string listed(bool must) const {
    std::string all;
    for (const Parameter& p : f.parameters)
      if (must ? p.kind == Parameter::keyword_only : p.kind != Parameter::positional_only)
        all += say(all.empty() ? "" : ", ", text_of(p.name));
    return all;
  }
  void by_name(PyObject* name, PyObject* value) {
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
      const Parameter& p = f.parameters[i];
      if (p.name != name && (PyUnicode_Compare(p.name, name) != 0)) continue;
      if (p.kind == Parameter::positional_only || p.kind == Parameter::variadic) {
        type_error(say(f.name, ": ", text_of(name), " must be given by position."));
      }
      if (given[i]) type_error(say(f.name, ": ", text_of(name), " was given twice."));
      given[i] = value;
      return;
    }
    const std::string all = listed(false);
    type_error(say(f.name, " has no argument ", text_of(name), all.empty() ? "." : say("; it has ", all, ".")));
  }
};

// The tensors of a call: those of Python's objects where nothing else runs meanwhile, else references of its own.
struct Operands {
  SmallVector<Tensor, 4> own;
  SmallVector<const Tensor*, 8> in;
  std::int64_t elements = 0;

  void add(PyObject* o, std::string_view function, std::string_view name, bool optional = false) {
    if (o && is_tensor(o)) {
      in.push_back(&tensor_of(o));
      elements += in.back()->size();
      return;
    }
    own.push_back(o && !(optional && o == Py_None) ? as_tensor(o, say(function, ": ", name)) : Tensor());
    in.push_back(nullptr);
    if (own.back().defined()) elements += own.back().size();
  }
  void settle(bool large) {
    if (own.empty() && !large) return;
    SmallVector<Tensor, 4> all;
    std::size_t k = 0;
    for (const Tensor* t : in) all.push_back(t ? (large ? *t : Tensor()) : std::move(own[k++]));
    own = std::move(all);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!in[i] || large) in[i] = &own[i];
  }
};

// axes=([0, 1], [1, 0]) stands for x1_axes and x2_axes, where an op has these beside the number axes.
struct Placed {
  std::size_t index;
  Attr value;
};
std::pair<Placed, Placed> pair_of(const Function& f, std::size_t index, PyObject* o) {
  const std::string name(f.op->attrs[index].name);
  const auto find = [&](const std::string& n) {
    for (std::size_t i = 0; i < f.op->attrs.size(); ++i)
      if (f.op->attrs[i].name == n) return i;
    type_error(say(f.name, ": ", name, " must be an integer; got ", type_name(o), "."));
  };
  const std::size_t first = find("x1_" + name), second = find("x2_" + name);
  const Ref both = Ref::checked(PySequence_Fast(o, ""));
  if (PySequence_Fast_GET_SIZE(both.get()) != 2)
    value_error(say(f.name, ": ", name, " must be an integer or two sequences of integers."));
  const std::string what = say(f.name, ": ", name);
  return {{first, ints_of(PySequence_Fast_GET_ITEM(both.get(), 0), what)},
          {second, ints_of(PySequence_Fast_GET_ITEM(both.get(), 1), what)}};
}

bool several(const Function& f) {
  return f.op->outputs.size() > 1 || f.op->outputs[0].ends_with("...");
}

// The tuple, with names if the outputs have some.
PyObject* named(const Function& f, Ref tuple) {
  return f.result_type ? Ref::checked(PyObject_CallObject(f.result_type, tuple.get())).release() : tuple.release();
}

PyObject* results(const Function& f, Tensors& out) {
  if (!several(f)) return wrap(std::move(out[0]));
  Ref tuple = Ref::checked(PyTuple_New(static_cast<Py_ssize_t>(out.size())));
  for (std::size_t i = 0; i < out.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(out[i])));
  return named(f, std::move(tuple));
}

// What the argument `out` names: a tensor, or a tuple of as many as there are outputs; their Python objects too,
// which the call returns.
struct Outs {
  SmallVector<Tensor*, 4> tensors;
  Ref objects;
  void take(const Function& f, PyObject* value) {
    const auto one = [&](PyObject* o) {
      if (!is_tensor(o)) type_error(say(f.name, ": out must be a tensor; got ", type_name(o), "."));
      tensors.push_back(&tensor_of(o));
    };
    objects = Ref::borrowed(value);
    if (!several(f)) return one(value);
    const auto count = static_cast<Py_ssize_t>(f.op->outputs.size());
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != count)
      type_error(say(f.name, ": out must be a tuple of ", count, " tensors; got ", type_name(value), "."));
    for (Py_ssize_t i = 0; i < count; ++i) one(PyTuple_GET_ITEM(value, i));
  }
  Into into() const { return {tensors.data(), tensors.size()}; }
};

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.node()->data == b.node()->data && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

PyObject* run(const Function& f, const Arguments& a, Operands& o, Attrs attrs, Into into) {
  const bool large = o.elements >= kLarge || f.large_attributes;
  o.settle(large);
  const Inputs in(o.in.data(), o.in.size());
  const Place place = here().place();
  if (f.diagnosed) {
    linalg::Diagnosed<Tensors> d;
    {
      const Unlocked unlocked(large);
      d = call_diagnosed(*f.op, in, attrs, place, into);
    }
    tell_findings();
    return Py_BuildValue("(NN)", results(f, d.value), wrap_diagnosis(d.diagnosis));
  }
  if (several(f)) {
    Tensors out;
    {
      const Unlocked unlocked(large);
      out = into.empty() ? call(*f.op, in, attrs, place) : call_into(*f.op, in, attrs, place, into);
    }
    tell_findings();
    return results(f, out);
  }
  Tensor y;
  {
    const Unlocked unlocked(large);
    y = into.empty() ? call1(*f.op, in, attrs, place) : call_into(*f.op, in, attrs, place, into[0]);
  }
  tell_findings();
  if (f.copy >= 0 && a.given[0] && is_tensor(a.given[0]) && attrs[static_cast<std::size_t>(f.copy)] &&
      !attrs[static_cast<std::size_t>(f.copy)].flag() && same_elements(y, tensor_of(a.given[0])))
    return Py_NewRef(a.given[0]);  // copy=False: the array itself
  return wrap(std::move(y));
}

PyObject* call_generally(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (f.wider && static_cast<std::size_t>(count) > f.positional) return call_function(*f.wider, args, count, names);
  Arguments a(f);
  a.match(args, count, names);
  Operands o;
  SmallVector<Attr, 4> attrs;  // empty: the defaults
  const auto attribute = [&](std::size_t i) -> Attr& {
    if (attrs.empty())
      for (const Attr& d : f.defaults) attrs.push_back(d);
    return attrs[i];
  };
  Outs given;
  for (std::size_t i = 0; i < f.parameters.size(); ++i) {
    const Parameter& p = f.parameters[i];
    PyObject* const value = a.given[i];
    if (p.role == Parameter::tensor) {
      const std::string_view name = f.op->params[p.index].name;
      if (p.kind == Parameter::variadic)
        for (Py_ssize_t k = 0; k < a.rest_count; ++k) o.add(a.rest[k], f.name, name);
      else
        o.add(value, f.name, name, f.op->params[p.index].optional);
      if (f.names >= 0 && p.index == 0 && value && !is_tensor(value)) [[unlikely]]
        if (auto labels = labels_of(value)) attribute(static_cast<std::size_t>(f.names)) = std::move(*labels);
    } else if (value) {
      if (p.role == Parameter::attribute && f.op->attrs[p.index].type == AttrType::integer &&
          PySequence_Check(value) && !is_tensor(value)) {
        const auto [first, second] = pair_of(f, p.index, value);
        attribute(first.index) = first.value;
        attribute(second.index) = second.value;
      } else if (p.role == Parameter::attribute) {
        attribute(p.index) = attribute_of(value, f.op->attrs[p.index], f.name);
      } else if (p.role == Parameter::out && value != Py_None) {
        given.take(f, value);
      } else if (p.role == Parameter::device && value != Py_None &&
                 !(PyUnicode_Check(value) && text_of(value) == "cpu")) {
        value_error(say(f.name, ": the only device is 'cpu'."));
      }
    }
  }
  Ref y(run(f, a, o, attrs.empty() ? Attrs(f.defaults) : Attrs(attrs.data(), attrs.size()), given.into()));
  if (!given.objects) return y.release();
  Ref value(several(f) ? named(f, std::move(given.objects)) : given.objects.release());
  return f.diagnosed ? Py_BuildValue("(NO)", value.release(), PyTuple_GET_ITEM(y.get(), 1)) : value.release();
}

// The ordinary call of a small op, all arguments tensors: nothing is matched, converted or copied. Null: it is
// another call.
PyObject* call_simply(const Function& f, PyObject* const* args, std::size_t count) {
  const Tensor* in[4];
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_tensor(args[i])) return nullptr;
    in[i] = &tensor_of(args[i]);
    elements += in[i]->size();
  }
  if (elements >= kLarge) return nullptr;
  Tensor y = call1(*f.op, Inputs(in, count), Attrs(f.defaults), here().place());
  tell_findings();
  return wrap(std::move(y));
}

}  // namespace

PyObject* call_function(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (static_cast<std::size_t>(count) == f.simple && !names) [[likely]]
    if (PyObject* const y = call_simply(f, args, f.simple)) return y;
  return call_generally(f, args, count, names);
}

}  // namespace wp::python
