// The choke point: every op runs through call().
#pragma once
#include "ops/op.hpp"
#include "wellposed/context.hpp"

namespace wp {

struct Origin;  // tensor/note.hpp

// Sees every call on the threads whose context lists it, when it is done; what after() throws reaches the caller of
// the op. (Who must know what runs before it is done is a witness: ops/witness.hpp.)
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void after(Call&) {}
  // Whether it keeps tensors of calls, whose memory must then not be used again.
  virtual bool keeps() const noexcept { return true; }
};
// The observer sees the calls of this thread from now on, inside those that already listen: what an outer one
// computes in after() the inner ones do not see. silence() may come in any order, and from another thread.
Listener* listen(Observer& o);
void silence(Listener* l) noexcept;
// Listens while it lives.
class [[nodiscard]] Listen {
 public:
  explicit Listen(Observer& o) : listener_(listen(o)) {}
  ~Listen() { silence(listener_); }
  Listen(const Listen&) = delete;
  Listen& operator=(const Listen&) = delete;

 private:
  Listener* listener_;
};

// No listener sees what is computed while it lives.
class [[nodiscard]] Unseen : detail::Restore<&Context::listeners> {
 public:
  Unseen() { context().listeners = nullptr; }
};

Tensors call(const Op& op, Inputs in, Attrs attrs, const Place& place);
// The first output.
Tensor call1(const Op& op, Inputs in, Attrs attrs, const Place& place);
// The first output, for a caller that gives up its first argument: an op that knows how may write the result into
// that memory, if nobody else sees it and nobody observes.
Tensor call_consuming(const Op& op, Inputs in, Attrs attrs, const Place& place);

// All outputs, and what the op says of them; numerical trouble does not raise.
linalg::Diagnosed<Tensors> call_diagnosed(const Op& op, Inputs in, Attrs attrs, const Place& place, Into into = {});
// All outputs, or the first one, in the memory of `into` (empty, null: in their own), which must have their dtype and
// shape and be seen by nobody else. Where an op raises for some members of a batch, the others are there.
Tensors call_into(const Op& op, Inputs in, Attrs attrs, const Place& place, Into into);
Tensor call_into(const Op& op, Inputs in, Attrs attrs, const Place& place, Tensor* into);

// The same call with what was worked out about its first argument before; `diagnosed`: as call_diagnosed.
linalg::Diagnosed<Tensors> call_prepared(const Op& op, Inputs in, Attrs attrs, const Place& place,
                                         std::shared_ptr<const Prepared> prepared, bool diagnosed = false);

// Refuses arguments and attributes of kinds that the op does not take; the dispatch does it first.
void check_arguments(const Call& c);

// The checks observer (checks.cpp): notes, warns or raises for made Inf and NaN, and hands notes on.
void check_call(Call& c);
// What is said of an Inf or NaN that the call made; rule, scope and step are those of the context.
Origin describe(const Call& c, std::size_t output, std::int64_t element);
// The part of it that says why, of operands in the domain: code, the end of the message, advice.
void tell_cause(Finding& f, DType dtype, bool nan, bool infinities);
// Moved rows of a data set keep their numbers (rows.cpp).
void carry_rows(Call& c);

}  // namespace wp
