// Functions of wellposed inside programs that XLA compiled: a handler of its foreign function interface, which is a C
// interface with stable layouts (XLA FFI 0.x). It hands the buffers to Python as tensors in place and copies the
// results out.
#include <cstring>

#include "bind.hpp"

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

Tensor shown(const xla::Buffer& b) {
  return Tensor::borrow(b.data, dtype_of(b.dtype), Dims(b.dims, b.dims + b.rank));
}

nb::object& runner() {  // run(program, tensors) of Python; never destroyed
  static nb::object* const f = new nb::object;
  return *f;
}

void run(const xla::Frame& f) {
  std::string_view program;
  for (std::int64_t i = 0; i < f.attributes.count; ++i) {
    const xla::Span& name = *f.attributes.names[i];
    if (std::string_view(name.first, name.length) != "program") continue;
    const auto& text = *static_cast<const xla::Span*>(f.attributes.values[i]);
    program = {text.first, text.length};
  }
  nb::list in;
  for (std::int64_t i = 0; i < f.arguments.count; ++i)
    in.append(nb::steal(wrap(shown(*static_cast<const xla::Buffer*>(f.arguments.items[i])))));
  const auto out = nb::cast<std::vector<Tensor>>(runner()(nb::str(program.data(), program.size()), in));
  if (out.size() != static_cast<std::size_t>(f.results.count))
    throw std::length_error(say(out.size(), " results where XLA expects ", f.results.count, "."));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& to = *static_cast<const xla::Buffer*>(f.results.items[i]);
    const Tensor y = out[i].is_contiguous() ? out[i] : copied(out[i]);
    const Dims shape(to.dims, to.dims + to.rank);
    if (y.dtype() != dtype_of(to.dtype) || !(y.shape() == shape))
      throw std::length_error(
          say("a result is ", y.dtype(), " ", y.shape(), " where XLA expects ", dtype_of(to.dtype), " ", shape, "."));
    std::memcpy(to.data, y.node()->data, static_cast<std::size_t>(y.size()) * size_of(y.dtype()));
  }
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
  const nb::gil_scoped_acquire lock;
  std::string words;
  try {
    run(*f);
    return nullptr;
  } catch (nb::python_error& e) {
    words = nb::cast<std::string>(nb::str(e.value()));
  } catch (const std::exception& e) {
    words = e.what();
  }
  xla::ErrorText text{sizeof(xla::ErrorText), nullptr, words.c_str(), 3};
  return f->api->make_error(&text);
}

}  // namespace

void bind_xla(nb::module_& m) {
  m.def("xla_handler", [](nb::object run) {
    runner() = std::move(run);
    return nb::capsule(reinterpret_cast<void*>(handler));
  });
}

}  // namespace wp::python
