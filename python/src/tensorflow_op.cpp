// Functions of wellposed as ops of TensorFlow's graphs: kernels by its C interface (tensorflow/c/ops.h, kernels.h,
// tf_tensor.h), whose functions are looked up in the library that TensorFlow has loaded. Calls of the op table run on
// the tensors in place, without Python; results are handed over.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "ops/dispatch.hpp"
#include "programs.hpp"
#include "simd/float_state.hpp"

namespace wp::python {
namespace {

constexpr const char* kOp = "WellposedLinalg";
constexpr int kInvalidArgument = 3, kResourceExhausted = 8;  // TF_Code

// What is used of the C interface; the objects are TensorFlow's own.
struct Library {
  void* (*new_status)();
  void (*delete_status)(void* status);
  void (*set_status)(void* status, int code, const char* words);
  int (*code)(const void* status);
  const char* (*message)(const void* status);
  void* (*new_op)(const char* name);
  void (*add_attribute)(void* op, const char* spec);
  void (*add_input)(void* op, const char* spec);
  void (*add_output)(void* op, const char* spec);
  void (*set_stateful)(void* op, bool is);
  void (*set_shapes)(void* op, void (*infer)(void* context, void* status));
  void (*unknown_shapes)(void* context, void* status);
  void (*register_op)(void* op, void* status);
  void* (*new_kernel)(const char* op, const char* device, void* (*create)(void* construction),
                      void (*compute)(void* kernel, void* context), void (*destroy)(void* kernel));
  void (*register_kernel)(const char* name, void* kernel, void* status);
  void (*attribute_size)(void* construction, const char* name, std::int32_t* count, std::int32_t* bytes,
                         void* status);
  void (*attribute)(void* construction, const char* name, char* to, std::size_t bytes, void* status);
  int (*inputs)(void* context);
  int (*outputs)(void* context);
  void (*input)(void* context, int i, void** tensor, void* status);
  int (*expected)(void* context, int i);
  void (*set_output)(void* context, int i, const void* tensor, void* status);
  void (*fail)(void* context, void* status);
  void* (*new_tensor)(int dtype, const std::int64_t* shape, int rank, void* data, std::size_t bytes,
                      void (*release)(void* data, std::size_t bytes, void* argument), void* argument);
  void* (*allocate)(int dtype, const std::int64_t* shape, int rank, std::size_t bytes);
  void (*delete_tensor)(void* tensor);
  int (*type)(const void* tensor);
  int (*rank)(const void* tensor);
  std::int64_t (*length)(const void* tensor, int axis);
  void* (*data)(const void* tensor);
};
constexpr const char* kNames[] = {"TF_NewStatus",
                                  "TF_DeleteStatus",
                                  "TF_SetStatus",
                                  "TF_GetCode",
                                  "TF_Message",
                                  "TF_NewOpDefinitionBuilder",
                                  "TF_OpDefinitionBuilderAddAttr",
                                  "TF_OpDefinitionBuilderAddInput",
                                  "TF_OpDefinitionBuilderAddOutput",
                                  "TF_OpDefinitionBuilderSetIsStateful",
                                  "TF_OpDefinitionBuilderSetShapeInferenceFunction",
                                  "TF_ShapeInferenceContextSetUnknownShape",
                                  "TF_RegisterOpDefinition",
                                  "TF_NewKernelBuilder",
                                  "TF_RegisterKernelBuilder",
                                  "TF_OpKernelConstruction_GetAttrSize",
                                  "TF_OpKernelConstruction_GetAttrString",
                                  "TF_NumInputs",
                                  "TF_NumOutputs",
                                  "TF_GetInput",
                                  "TF_ExpectedOutputDataType",
                                  "TF_SetOutput",
                                  "TF_OpKernelContext_Failure",
                                  "TF_NewTensor",
                                  "TF_AllocateTensor",
                                  "TF_DeleteTensor",
                                  "TF_TensorType",
                                  "TF_NumDims",
                                  "TF_Dim",
                                  "TF_TensorData"};
static_assert(sizeof(Library) == std::size(kNames) * sizeof(void*));

struct Loaded {
  Library tf;
  Programs programs;
};
Loaded* loaded = nullptr;  // never destroyed
const Library& tf() {
  return loaded->tf;
}

// A status; ends as an exception where TensorFlow has put words into it.
class Status {
 public:
  Status() : status_(tf().new_status()) {}
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { tf().delete_status(status_); }
  operator void*() const noexcept { return status_; }
  void check() const {
    if (tf().code(status_) != 0) throw std::runtime_error(tf().message(status_));
  }

 private:
  void* status_;
};

struct Code {
  DType dtype;
  int code;
};
constexpr Code kCodes[] = {{f32, 1}, {f64, 2},      {i32, 3},  {u8, 4},    {i16, 5},  {i8, 6},  {c64, 8},
                           {i64, 9}, {boolean, 10}, {u16, 17}, {c128, 18}, {u32, 22}, {u64, 23}};
DType dtype_of_code(int code) {
  for (const Code& c : kCodes)
    if (c.code == code) return c.dtype;
  throw std::invalid_argument(say("wellposed has no dtype for TensorFlow's type ", code, " here."));
}
int code_of(DType d) {
  for (const Code& c : kCodes)
    if (c.dtype == d) return c.code;
  return 0;
}

// The tensors of a call, held while it runs.
class Arguments {
 public:
  Arguments(void* context, const Status& status) {
    for (int i = 0, n = tf().inputs(context); i < n; ++i) {
      void* t = nullptr;
      tf().input(context, i, &t, status);
      status.check();
      held_.push_back(t);
      Dims shape;
      for (int d = 0; d < tf().rank(t); ++d) shape.push_back(tf().length(t, d));
      const DType dtype = dtype_of_code(tf().type(t));
      Tensor x = Tensor::borrow(tf().data(t), dtype, shape);
      if (reinterpret_cast<std::uintptr_t>(x.node()->data) % std::min<std::size_t>(size_of(dtype), 8) != 0)
        x = copied(x);
      x.node()->borrowed = false;  // TensorFlow writes to no tensor of a call while it runs
      own_.push_back(std::move(x));
    }
    for (const Tensor& x : own_) pointers_.push_back(&x);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (void* t : held_) tf().delete_tensor(t);
  }
  Inputs inputs() const { return {pointers_.data(), pointers_.size()}; }
  bool share(const void* memory) const {
    return std::ranges::any_of(own_, [&](const Tensor& x) {
      const char* const first = x.node()->data;
      return memory >= first && memory < first + x.nbytes();
    });
  }

 private:
  std::vector<void*> held_;
  std::vector<Tensor> own_;
  std::vector<const Tensor*> pointers_;
};

constexpr std::size_t kCopied = 32768;  // bytes up to which a copy costs less than handing memory over

// A result becomes TensorFlow's: its memory, which nobody else sees, or a copy.
void hand_over(Tensor y, void* context, int i, const Arguments& in, const Status& status) {
  const int code = code_of(y.dtype());
  if (code != tf().expected(context, i))
    throw std::length_error(say("result ", i, " is ", y.dtype(), ", where the graph expects another dtype."));
  if (!y.is_contiguous()) y = copied(y);
  const Dims shape = y.shape();
  const auto rank = static_cast<int>(shape.size());
  const std::size_t bytes = y.nbytes();
  void* t = nullptr;
  if (bytes <= kCopied || in.share(y.node()->data)) {
    t = tf().allocate(code, shape.data(), rank, bytes);
    if (bytes > 0) std::memcpy(tf().data(t), y.node()->data, bytes);
  } else {
    char* const data = y.node()->data;
    t = tf().new_tensor(
        code, shape.data(), rank, data, bytes,
        [](void*, std::size_t, void* kept) { delete static_cast<Tensor*>(kept); }, new Tensor(std::move(y)));
  }
  tf().set_output(context, i, t, status);
  tf().delete_tensor(t);
  status.check();
}

void run(const std::string& program, void* context, const Status& status) {
  const simd::StandardFloats floats;
  const Arguments in(context, status);
  const Planned& plan = loaded->programs.of(program, in.inputs().size());
  if (!plan.op) throw std::invalid_argument(say("this process knows no program ", program, "."));
  Tensors out;
  if (plan.op->outputs.size() > 1)
    out = call(*plan.op, in.inputs(), plan.attrs, Place());
  else
    out.push_back(call1(*plan.op, in.inputs(), plan.attrs, Place()));
  if (out.size() != static_cast<std::size_t>(tf().outputs(context)))
    throw std::length_error(say(out.size(), " results where the graph expects ", tf().outputs(context), "."));
  for (std::size_t i = 0; i < out.size(); ++i) hand_over(std::move(out[i]), context, static_cast<int>(i), in, status);
  tell_findings_unlocked();
}

void* create(void* construction) {
  const Status status;
  std::int32_t count = 0, bytes = 0;
  tf().attribute_size(construction, "program", &count, &bytes, status);
  auto* const program = new std::string(static_cast<std::size_t>(std::max(bytes, 0)), '\0');
  tf().attribute(construction, "program", program->data(), program->size(), status);
  return program;
}

void compute(void* program, void* context) {
  const Status status;
  std::string words;
  int code = kInvalidArgument;
  try {
    run(*static_cast<const std::string*>(program), context, status);
    return;
  } catch (const Error& e) {  // as tf.numpy_function tells errors of Python
    words = say("wellposed._errors.", class_name(e), ": ", e.what());
  } catch (const std::bad_alloc&) {
    words = "out of memory.";
    code = kResourceExhausted;
  } catch (...) {
    words = words_of_exception();
  }
  tf().set_status(status, code, words.c_str());
  tf().fail(context, status);
}

// Whether the op is there now. path: of TensorFlow's library.
bool add_op(const std::string& path, nb::object plan) {
  if (loaded) return true;
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  void* found[std::size(kNames)];
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (!(found[i] = dlsym(library, kNames[i]))) return false;
  auto* const made = new Loaded{{}, Programs(std::move(plan))};
  std::memcpy(&made->tf, found, sizeof found);
  loaded = made;
  const Status status;
  void* const op = tf().new_op(kOp);
  tf().add_input(op, "x: Tin");
  tf().add_output(op, "y: Tout");
  tf().add_attribute(op, "Tin: list(type) >= 1");
  tf().add_attribute(op, "Tout: list(type) >= 1");
  tf().add_attribute(op, "program: string");
  tf().set_stateful(op, true);  // it may raise and warn: neither left out nor run ahead
  tf().set_shapes(op, [](void* context, void* s) { tf().unknown_shapes(context, s); });
  tf().register_op(op, status);
  status.check();
  tf().register_kernel(
      kOp,
      tf().new_kernel(kOp, "CPU", create, compute, [](void* program) { delete static_cast<std::string*>(program); }),
      status);
  status.check();
  return true;
}

}  // namespace

void bind_tensorflow(nb::module_& m) {
  m.def("tensorflow_op", add_op, nb::arg("library"), nb::arg("plan"));
  // Whether a program is one call of the op table.
  m.def("tensorflow_program", [](const std::string& program, std::size_t tensors) {
    const nb::gil_scoped_release unlocked;
    return loaded && loaded->programs.of(program, tensors).op != nullptr;
  });
}

}  // namespace wp::python
