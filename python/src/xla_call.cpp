// Functions of wellposed inside programs that XLA compiled: a handler of its foreign function interface, which is a C
// interface with stable layouts (XLA FFI 0.x). Calls of the op table run on the buffers in place, without Python;
// derivatives go through Python, which gets the buffers as tensors, and their results are copied out.
#include <cstring>

#include "ops/dispatch.hpp"
#include "programs.hpp"
#include "simd/float_state.hpp"

namespace wp::python {
namespace {

namespace xla {

struct Extension {
  std::size_t size;
  int type;  // 1: asks what the handler is
  Extension* next;
};
struct Version {
  std::size_t size;
  Extension* extension;
  int major, minor;
};
struct Metadata {
  std::size_t size;
  Version api;
  std::uint32_t traits;
};
struct MetadataQuery {
  Extension base;
  Metadata* answer;
};
struct ErrorText {
  std::size_t size;
  Extension* extension;
  const char* message;
  int code;
};
struct Api {
  std::size_t size;
  Extension* extension;
  Version version;
  const void* internal;
  void* (*make_error)(ErrorText*);
};
struct Buffer {
  std::size_t size;
  Extension* extension;
  int dtype;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};
struct List {  // of arguments, or of results
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  int* types;
  void** items;
};
struct Span {
  const char* first;
  std::size_t length;
};
struct Attributes {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  int* types;
  Span** names;
  void** values;
};
struct Frame {
  std::size_t size;
  Extension* extension;
  const Api* api;
  void* context;
  int stage;  // 3: execute
  List arguments, results;
  Attributes attributes;
};

}  // namespace xla

DType dtype_of(int code) {
  switch (code) {
    case 1: return boolean;
    case 2: return i8;
    case 3: return i16;
    case 4: return i32;
    case 5: return i64;
    case 6: return u8;
    case 7: return u16;
    case 8: return u32;
    case 9: return u64;
    case 10: return f16;
    case 11: return f32;
    case 12: return f64;
    case 15: return c64;
    case 16: return bf16;
    case 18: return c128;
    default: throw std::invalid_argument(say("wellposed has no dtype for XLA's type ", code, "."));
  }
}

// XLA writes to no buffer of a call while it runs: tapes need not sum them up.
Tensor shown(const xla::Buffer& b) {
  Tensor t = Tensor::borrow(b.data, dtype_of(b.dtype), Dims(b.dims, b.dims + b.rank));
  t.node()->borrowed = false;
  return t;
}

// What runs programs; never destroyed.
struct Functions {
  nb::object run;  // run(program, tensors): the results
  Programs programs;
};
Functions*& functions() {
  static Functions* f = nullptr;
  return f;
}

std::string_view program_of(const xla::Frame& f) {
  for (std::int64_t i = 0; i < f.attributes.count; ++i) {
    const xla::Span& name = *f.attributes.names[i];
    if (std::string_view(name.first, name.length) != "program") continue;
    const auto& text = *static_cast<const xla::Span*>(f.attributes.values[i]);
    return {text.first, text.length};
  }
  return {};
}

const xla::Buffer& buffer(const xla::List& l, std::size_t i) {
  return *static_cast<const xla::Buffer*>(l.items[i]);
}

void check_count(std::size_t made, const xla::Frame& f) {
  if (made != static_cast<std::size_t>(f.results.count))
    throw std::length_error(say(made, " results where XLA expects ", f.results.count, "."));
}

void copy_out(const Tensor& made, const xla::Buffer& to) {
  const Tensor y = made.is_contiguous() ? made : copied(made);
  const Dims shape(to.dims, to.dims + to.rank);
  if (y.dtype() != dtype_of(to.dtype) || !(y.shape() == shape))
    throw std::length_error(
        say("a result is ", y.dtype(), " ", y.shape(), " where XLA expects ", dtype_of(to.dtype), " ", shape, "."));
  if (y.size() > 0) std::memcpy(to.data, y.node()->data, static_cast<std::size_t>(y.size()) * size_of(y.dtype()));
}

void run_planned(const xla::Frame& f, const Planned& plan) {
  std::vector<Tensor> own;
  std::vector<const Tensor*> in;
  own.reserve(static_cast<std::size_t>(f.arguments.count));
  for (std::size_t i = 0; i < own.capacity(); ++i) own.push_back(shown(buffer(f.arguments, i)));
  for (const Tensor& t : own) in.push_back(&t);
  const Inputs inputs(in.data(), in.size());
  if (plan.op->outputs.size() > 1) {
    const Tensors out = call(*plan.op, inputs, plan.attrs, Place());
    check_count(out.size(), f);
    for (std::size_t i = 0; i < out.size(); ++i) copy_out(out[i], buffer(f.results, i));
    return;
  }
  check_count(1, f);
  Tensor into = shown(buffer(f.results, 0));
  if (into.size() == 0) return copy_out(call1(*plan.op, inputs, plan.attrs, Place()), buffer(f.results, 0));
  const Tensor y = call_into(*plan.op, inputs, plan.attrs, Place(), &into);
  if (y.node()->data != into.node()->data) copy_out(y, buffer(f.results, 0));
}

void run(const xla::Frame& f) {
  const simd::StandardFloats floats;
  const std::string_view program = program_of(f);
  const Planned& plan = functions()->programs.of(program, static_cast<std::size_t>(f.arguments.count));
  if (plan.op) {
    run_planned(f, plan);
    tell_findings_unlocked();
    return;
  }
  const nb::gil_scoped_acquire lock;
  nb::list in;
  for (std::int64_t i = 0; i < f.arguments.count; ++i)
    in.append(nb::steal(wrap(shown(buffer(f.arguments, static_cast<std::size_t>(i))))));
  const auto out = nb::cast<std::vector<Tensor>>(functions()->run(nb::str(program.data(), program.size()), in));
  check_count(out.size(), f);
  for (std::size_t i = 0; i < out.size(); ++i) copy_out(out[i], buffer(f.results, i));
}

void* handler(xla::Frame* f) {
  for (xla::Extension* e = f->extension; e; e = e->next)
    if (e->type == 1) {
      xla::Metadata& m = *reinterpret_cast<xla::MetadataQuery*>(e)->answer;
      m.api.major = f->api ? f->api->version.major : 0;  // what is used here has not moved within 0.x
      m.api.minor = f->api ? f->api->version.minor : 3;
      return nullptr;
    }
  if (f->stage != 3) return nullptr;
  std::string words;
  try {
    run(*f);
    return nullptr;
  } catch (...) {
    words = words_of_exception();
  }
  xla::ErrorText text{sizeof(xla::ErrorText), nullptr, words.c_str(), 3};
  return f->api->make_error(&text);
}

}  // namespace

void bind_xla(nb::module_& m) {
  m.def("xla_handler", [](nb::object run, nb::object plan) {
    functions() = new Functions{std::move(run), Programs(std::move(plan))};
    return nb::capsule(reinterpret_cast<void*>(handler));
  });
}

}  // namespace wp::python
