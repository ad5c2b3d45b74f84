// The op record: all that is true of an operation. One op, one room (rooms/*.cpp). C++ headers, the CLI, docs and
// tests are derived from it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/attr.hpp"
#include "simd/loop.hpp"
#include "wellposed/context.hpp"
#include "wellposed/diagnosis.hpp"
#include "wellposed/tensor.hpp"

namespace wp {

struct Op;

// Arguments of a call, borrowed from the caller. An optional argument that was not given is undefined.
class Inputs {
 public:
  Inputs(const Tensor* const* first, std::size_t count) noexcept : first_(first), count_(count) {}
  template <std::size_t N>
  Inputs(const Tensor* const (&array)[N]) noexcept : Inputs(array, N) {}  // NOLINT
  std::size_t size() const noexcept { return count_; }
  const Tensor& operator[](std::size_t i) const noexcept { return *first_[i]; }

 private:
  const Tensor* const* first_;
  std::size_t count_;
};

// Where the caller wants the outputs.
using Into = std::span<Tensor* const>;

// What was worked out about the first argument of a call before it (the factors of a matrix).
struct Prepared {
  virtual ~Prepared() = default;
};

// One execution; lives on the stack of the dispatch.
struct Call {
  const Op& op;
  Inputs in;
  Attrs attrs;
  Running running;
  Tensors out;      // made by infer, written by forward; views and data-dependent shapes are made by forward
  DType key = f64;  // the dtype that element-wise data operands are brought to
  simd::Status status;
  bool direct = false;          // element-wise: small, contiguous and of one dtype, so one run of the loop does it
  bool consumes_first = false;  // the caller gives up input 0: its memory may be reused if nobody else sees it
  bool diagnosed = false;       // the caller takes the diagnosis: numerical trouble does not raise
  // What few calls have.
  struct Aside {
    std::vector<Tensor> residuals;  // what the derivative needs beside inputs and outputs (factors, masks)
    linalg::Diagnosis diagnosis;
    std::vector<Tensor> flow_memo;             // what flow remembers between questions about this call
    std::shared_ptr<const Prepared> prepared;  // handed over by the caller; changes the cost, not the answer
    const Into* into = nullptr;                // null: outputs have memory of their own
    std::shared_ptr<const void> keepsake;      // beside tensors: a function that the caller gave
    bool keeps_after = false;                  // the derivative may ask what comes after: a tape keeps it
  };
  mutable std::unique_ptr<Aside> aside;

  Call(const Op& o, Inputs i, Attrs a, const Place& p) noexcept;  // p must outlive it
  const Place& place() const noexcept { return *running.place; }
  const Attr& attr(std::size_t i) const noexcept { return attrs[i]; }
  Aside& beside() const {
    if (!aside) aside = std::make_unique<Aside>();
    return *aside;
  }
  // Adds an output with uninitialised memory; in that of the caller, if he gave any.
  Tensor& output(DType dtype, const Dims& shape) {
    if (aside && aside->into) [[unlikely]]
      out.push_back(given_memory(dtype, shape));
    else
      out.push_back(Tensor::adopt(detail::make_node(dtype, shape)));
    return out.back();
  }

 private:
  const Tensor& given_memory(DType dtype, const Dims& shape);  // refuses what does not fit or others see
};

// ---- how output elements depend on input elements -----------------------------------------------------------------
struct FlowQuery {
  const Call& call;
  std::size_t output;    // which output
  std::int64_t element;  // which of its elements, row-major
  std::size_t input;     // which input is asked about
};
class Visit {  // a reference to a callable void(std::int64_t element)
 public:
  template <class F>
  Visit(const F& f) noexcept  // NOLINT
      : object_(&f), call_([](const void* o, std::int64_t e) { (*static_cast<const F*>(o))(e); }) {}
  void operator()(std::int64_t element) const { call_(object_, element); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t);
};
// Visits the elements of q.input that q.element depends on: all of them, and no other.
using Flow = void (*)(const FlowQuery& q, Visit visit);

// What becomes of notes about made Inf/NaN.
enum class Notes : std::uint8_t {
  inherit,  // non-finite results are made here, or inherit; bool and integer results carry marks of bool operands
  moves,    // only moves elements: makes nothing, inherits
  judges,   // compares or searches: results that depend on a made NaN carry its note
  drops,    // isnan, isfinite, …: asking is not using
  gives,    // creates values; what is non-finite in them was meant
};

// ---- derivatives: slots that part of the library which differentiates fills and reads -----------------------------
struct Saved;  // ops/derivative.hpp
struct Backward;
struct Forward;
using Partial = Tensor (*)(const Saved&, std::size_t i);  // element-wise: ∂y/∂x_i; undefined: zero everywhere
using Vjp = Tensors (*)(const Backward&);                 // one cotangent per input; undefined: structurally zero
using Jvp = Tensors (*)(const Forward&);                  // one tangent per output

struct Param {
  std::string_view name;
  Kinds kinds = kinds::any;
  std::string_view doc = {};
  bool optional = false;  // may be left out
  bool variadic = false;  // the last parameter takes any number of tensors
  bool separate = false;  // does not take part in promotion (conditions, indices)
};

struct AttrSpec {
  std::string_view name;
  AttrType type;
  Attr fallback = {};  // the default; none with required = false means None
  std::string_view doc = {};
  bool required = false;                       // a positional parameter in C++
  std::vector<std::string_view> choices = {};  // for text
  bool leading = false;                        // comes before the tensors, as einsum's subscripts
  bool nullable = false;                       // none may be given although there is a default
};

struct Sample {
  std::vector<Tensor> in;
  std::vector<Attr> attrs;
  std::string_view covers = {};  // a branch or domain edge of Op::branches
};

struct Op {
  std::string_view name;
  std::string_view ns = {};  // "", "linalg", "random"
  std::string_view group;    // chapter of the reference
  std::string_view doc;      // first sentence: what it returns
  std::vector<Param> params;
  std::vector<AttrSpec> attrs = {};
  std::vector<std::string_view> outputs = {"y"};  // one name ending in "...": any number of them
  std::string_view operator_ = {};                // "+": C++ and Python operator

  void (*infer)(Call&) = nullptr;    // shape and dtype rule: throws on misuse, makes the outputs
  void (*forward)(Call&) = nullptr;  // writes them
  const simd::Loops* loops = nullptr;
  bool diagnoses = false;   // leaves a diagnosis beside its results
  bool takes_out = false;   // made in memory that the caller gives, if he does
  bool collective = false;  // other processes run it too, and its rule: what one sees of its part decides nothing
  bool keeps_rows = false;  // an element of the result still is that of its row, as with all that only moves elements

  Notes notes = Notes::inherit;
  Kinds integer_as_float = 0;                         // element-wise: integers of these kinds are computed in f64
  std::string_view domain = {};                       // "x > 0": outside of it the result is not finite
  bool (*inside)(std::span<const double>) = nullptr;  // are these real operands in the domain?
  std::string_view advice = {};                       // what to do about an operand outside of it, or about overflow
  Flow flow = nullptr;
  Flow carriers = nullptr;  // for notes: the operands whose value the result has, where they are fewer (maximum)
  // Many results rest on nearly the same inputs (a line, a prefix). flow_base gives another element of the same
  // output whose inputs are all among q.element's, −1 if there is none; flow_rest visits the inputs beyond those
  // (null: none).
  std::int64_t (*flow_base)(const FlowQuery& q) = nullptr;
  Flow flow_rest = nullptr;

  Vjp vjp = nullptr;
  Jvp jvp = nullptr;
  bool selects = false;                 // the derivative passes or drops elements: zeros that it gives annihilate
  Partial partial = nullptr;            // of element-wise ops: gives vjp and jvp
  const simd::Loops* fused = nullptr;   // element-wise, one input: (cotangent, what is saved) ↦ input's cotangent
  std::string_view no_derivative = {};  // why there is none
  std::uint32_t saves_inputs = 0, saves_outputs = 0;  // bit i: the derivative reads input/output i
  // Of these, what not every input's derivative reads: a tape keeps what those of inputs that it knows read.
  std::uint32_t for_others = 0;     // bit i: input i is read for those of the other inputs only (products)
  std::uint32_t for_itself = 0;     // bit i: for that of input i only
  std::uint32_t outputs_for = ~0U;  // bit i: saved outputs are read for that of input i

  std::vector<std::string_view> branches = {};  // named cases; each must have a sample
  std::vector<Sample> (*samples)() = nullptr;

  // The parameter of argument i: the last one takes the rest.
  const Param& param(std::size_t i) const noexcept { return params[i < params.size() ? i : params.size() - 1]; }
};

// "multiply in the derivative of tanh"; rule: the op whose derivative runs, or null.
std::string call_text(const Op& op, const char* rule);

inline Call::Call(const Op& o, Inputs i, Attrs a, const Place& p) noexcept
    : op(o), in(i), attrs(a), running{o.name.data(), &p} {}

// Op::carriers of ops that choose one of their operands: what they drop has not left.
void carriers_equal(const FlowQuery& q, Visit visit);

// For Op::infer of ops whose forward makes the outputs.
inline void no_outputs(Call&) {}

// All ops, sorted by namespace and name. Generated by the build from the rooms folders.
std::span<const Op* const> op_table();
const Op* find_op(std::string_view qualified_name);  // "add", "random.normal"; null if there is none

}  // namespace wp
