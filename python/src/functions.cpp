// The functions of the op table: one C function serves them all. Arguments are matched with the op's parameters,
// turned into tensors and attributes, and the op is called.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "bind.hpp"
#include "ops/dispatch.hpp"
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
      const Scalar s = scalar_of(o, what());
      if (s.kind() == Scalar::Kind::complex) type_error(say(what(), " must be a real number; got complex."));
      return s.real();
    }
    case AttrType::scalar: return scalar_of(o, what());
    case AttrType::dtype: return dtype_of(o, what().c_str());
    case AttrType::ints: return ints_of(o, what());
    case AttrType::text: {
      if (!PyUnicode_Check(o)) type_error(say(what(), " must be a str; got ", type_name(o), "."));
      return Attr(intern(text_of(o)));
    }
    case AttrType::setting:
      if (PyUnicode_Check(o)) return Setting(text_of(o));
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
      d = call_diagnosed(*f.op, in, attrs, place);
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

PyObject* call_function(const Function& f, PyObject* const* args, Py_ssize_t count, PyObject* names) {
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
  return several(f) ? named(f, std::move(given.objects)) : given.objects.release();
}

// What a function of Python's keeps as __self__. It is pickled as its module, where the function is found by name.
struct Handle {
  const PyObject_HEAD Function* function;
  PyObject* module;
};
PyObject* reduce(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("importlib"));
  if (!module) return nullptr;
  return Py_BuildValue("N(O)", PyObject_GetAttrString(module.get(), "import_module"),
                       reinterpret_cast<Handle*>(self)->module);
}
PyTypeObject* handle_type() {
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  static PyType_Spec spec = {"wellposed._core.Handle", sizeof(Handle), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static auto* const type = reinterpret_cast<PyTypeObject*>(Ref::checked(PyType_FromSpec(&spec)).release());
  return type;
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

PyObject* entry(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  const Function& f = *reinterpret_cast<Handle*>(self)->function;
  return guarded([&] {
    if (static_cast<std::size_t>(count) == f.simple && !names) [[likely]]
      if (PyObject* const y = call_simply(f, args, f.simple)) return y;
    return call_function(f, args, count, names);
  });
}

// A named tuple with the names of the outputs.
PyObject* named_tuple(const Op& op) {
  std::string fields, type;
  bool upper = true;
  for (const std::string_view o : op.outputs) fields += say(o, " ");
  for (const char c : op.name) {
    if (c != '_') type += static_cast<char>(upper ? std::toupper(c) : c);
    upper = c == '_';
  }
  const Ref module = Ref::checked(PyImport_ImportModule("collections"));
  const Ref made =
      Ref::checked(PyObject_CallMethod(module.get(), "namedtuple", "ss", (type + "Result").c_str(), fields.c_str()));
  const Ref home = Ref::checked(text(op.ns.empty() ? "wellposed" : say("wellposed.", op.ns)));
  if (PyObject_SetAttrString(made.get(), "__module__", home.get()) != 0) throw ErrorIsSet();
  return Py_NewRef(made.get());
}

void add_function(PyObject* module, const Op& op, bool diagnosed) {
  static auto* const functions = new std::deque<Function>;
  Function& f = functions->emplace_back();
  f.op = &op;
  f.diagnosed = diagnosed;
  f.name = op.name;
  if (constexpr std::string_view suffix = "_generalized"; op.name.ends_with(suffix))
    for (Function& narrow : *functions)
      if (narrow.diagnosed == diagnosed && narrow.op->ns == op.ns && f.name == narrow.name + std::string(suffix))
        narrow.wider = &f;
  set_parameters(f);
  f.doc = documentation(f);
  const bool plain = f.variadic < 0 && !diagnosed && op.outputs.size() == 1 && !op.outputs[0].ends_with("...") &&
                     op.params.size() <= 4;
  bool all_default = true;
  for (const Parameter& p : f.parameters) all_default &= !p.required || p.role == Parameter::tensor;
  if (plain && all_default && !op.params.empty()) f.simple = op.params.size();
  if (op.outputs.size() > 1) {
    static auto* const types = new std::map<const Op*, PyObject*>;
    PyObject*& type = (*types)[&op];
    if (!type) {
      type = named_tuple(op);
      const Ref name = Ref::checked(PyObject_GetAttrString(type, "__name__"));
      PyObject_SetAttr(module, name.get(), type);
    }
    f.result_type = type;
  }
  f.definition = {f.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry)),
                  METH_FASTCALL | METH_KEYWORDS, f.doc.c_str()};
  const Ref home = Ref::checked(PyUnicode_FromString(PyModule_GetName(module)));
  const Ref self = Ref::checked(reinterpret_cast<PyObject*>(PyObject_New(Handle, handle_type())));
  reinterpret_cast<Handle*>(self.get())->function = &f;
  reinterpret_cast<Handle*>(self.get())->module = Py_NewRef(home.get());
  const Ref function = Ref::checked(PyCFunction_NewEx(&f.definition, self.get(), home.get()));
  PyModule_AddObjectRef(module, f.name.c_str(), function.get());
}

// wellposed.linalg, as a module that `import wellposed.linalg` finds.
Ref submodule(PyObject* parent, const std::string& name) {
  const std::string full = say("wellposed.", name);
  Ref module = Ref::checked(PyModule_New(full.c_str()));
  PyDict_SetItemString(PyImport_GetModuleDict(), full.c_str(), module.get());
  if (PyObject_SetAttrString(parent, name.substr(name.rfind('.') + 1).c_str(), module.get()) != 0) throw ErrorIsSet();
  return module;
}

}  // namespace

std::optional<Planned> plan_of(PyObject* function, PyObject* options, std::size_t tensors) {
  if (!PyCFunction_Check(function)) return {};
  PyObject* const self = PyCFunction_GET_SELF(function);
  if (!self || Py_TYPE(self) != handle_type()) return {};
  const Function* f = reinterpret_cast<Handle*>(self)->function;
  if (f->wider && tensors > f->positional) f = f->wider;
  if (f->diagnosed || f->variadic >= 0 || f->op->params.size() != tensors) return {};
  Planned plan{f->op, f->defaults};
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(options, &at, &name, &value);) {
    const auto p = std::ranges::find_if(f->parameters, [&](const Parameter& q) {
      return q.role == Parameter::attribute && PyUnicode_Compare(q.name, name) == 0;
    });
    if (p == f->parameters.end()) return {};
    plan.attrs[p->index] = attribute_of(value, f->op->attrs[p->index], f->name);
  }
  return plan;
}

void add_functions(PyObject* module) {
  std::map<std::string, Ref, std::less<>> spaces;
  const auto space = [&](const std::string& ns, PyObject* parent) -> PyObject* {
    Ref& m = spaces[ns];
    if (!m) m = submodule(parent, ns);
    return m.get();
  };
  for (const Op* op : op_table()) {
    PyObject* const home = op->ns.empty() ? module : space(std::string(op->ns), module);
    add_function(home, *op, false);
    if (op->diagnoses) add_function(space(std::string(op->ns) + ".diagnosed", home), *op, true);
  }
}

}  // namespace wp::python
