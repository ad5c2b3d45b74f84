#include "ops/dispatch.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "ops/witness.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

struct Enter {  // errors and allocations name the call that runs
  Context& context;
  const Running* outer;
  Enter(Context& c, const Call& call) noexcept : context(c), outer(c.running) { c.running = &call.running; }
  ~Enter() { context.running = outer; }
  Enter(const Enter&) = delete;
  Enter& operator=(const Enter&) = delete;
};

struct Carried {
  bool note = false, label = false;
};
Carried carried(const Inputs& in) noexcept {
  Carried any;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].defined()) continue;
    any.note |= in[i].node()->note != nullptr;
    any.label |= in[i].node()->labelled;
  }
  return any;
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_input(const Call& c, const Param& p, const Tensor& t) {
  if (!t.defined()) refuse<ArgumentError>("WP-ARG-002", say("argument ", p.name, " is missing."));
  const bool integers = is_floating(t.dtype()) && (p.kinds & kinds::floating) == 0;
  refuse<DtypeError>(
      "WP-DTY-003", say(p.name, " must be ", kinds_text(p.kinds), "; got ", t.dtype(), " ", t.shape(), "."),
      c.in.size() && integers ? "Convert with astype if the values are whole numbers." : "Convert with astype.");
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_attr(const AttrSpec& spec, const Attr& a) {
  std::string rule = say("attribute ", spec.name);
  if (!a) refuse<ArgumentError>("WP-ARG-002", rule + " is missing.");
  std::string choices = spec.type == AttrType::setting ? "a number" : "";
  for (const std::string_view choice : spec.choices) choices += say(choices.empty() ? "" : ", ", "'", choice, "'");
  refuse<ArgumentError>("WP-ARG-001", choices.empty()
                                          ? say(rule, " has the wrong type; got ", a.show(), ".")
                                          : say(rule, " must be one of ", choices, "; got ", a.show(), "."));
}

}  // namespace

void check_arguments(const Call& c) {
  const std::vector<Param>& params = c.op.params;
  const std::size_t last = params.size();
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Param& p = params[i < last ? i : last - 1];
    const Tensor& t = c.in[i];
    if (t.defined() ? !is(t.dtype(), p.kinds) : !p.optional) [[unlikely]]
      refuse_input(c, p, t);
  }
  for (std::size_t i = 0; i < c.attrs.size(); ++i) {
    const AttrSpec& spec = c.op.attrs[i];
    const Attr& a = c.attrs[i];
    bool good = a.type() == spec.type || (!a && !spec.required && (!spec.fallback || spec.nullable));
    if (good && !spec.choices.empty() && a && !(a.type() == AttrType::setting && a.is_number()))
      good = std::find(spec.choices.begin(), spec.choices.end(), a.text()) != spec.choices.end();
    if (!good) [[unlikely]]
      refuse_attr(spec, a);
  }
}

namespace {

// While an observer computes, only those outside of it listen.
struct Outside {
  Context& context;
  Listener* const all;
  Outside(Context& c, const Listener& l) noexcept : context(c), all(c.listeners) { c.listeners = l.outer; }
  ~Outside() { context.listeners = all; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};
// The outermost first, so that what it gives to a tensor (a tape: its number) is there for the inner ones.
void tell(const Listener& l, Call& c, Context& context) {
  if (l.outer) tell(*l.outer, c, context);
  if (!l.observer) return;
  const Outside outside(context, l);
  l.observer->after(c);
}

// Memory that the caller gave says nothing of what it held.
void forget_old_values(Into into) {
  for (const Tensor* const t : into) {
    t->node()->note.reset();
    t->node()->weak = false;
  }
}

inline void run(Call& c, Context& context) {
  c.op.infer(c);
  if (c.aside && c.aside->into) [[unlikely]]
    forget_old_values(*c.aside->into);
  c.op.forward(c);
  const Carried with = carried(c.in);
  if ((c.status.bits & simd::Status::nonfinite) || with.note) [[unlikely]] {
    context.saw_nonfinite = true;
    if (context.level != CheckLevel::off) check_call(c);
  }
  if (with.label && (c.op.notes == Notes::moves || c.op.keeps_rows)) [[unlikely]]
    carry_rows(c);
  if (context.listeners) [[unlikely]]
    tell(*context.listeners, c, context);
}

// Whether the error is about a result of the call: all of them are there, and the checks refused one.
bool refuses_result(const Error& e, const Call& c) noexcept {
  const Subject* const s = e.subject().get();
  return s && std::any_of(c.out.begin(), c.out.end(), [&](const Tensor& t) { return t.node() == s->tensor.node(); });
}

[[gnu::noinline]] void run_witnessed(Call& c, Context& context) {
  witness_before(c);
  try {
    run(c, context);
  } catch (const NonFiniteError& e) {
    refuses_result(e, c) ? witness_refused(c) : witness_left(c);
    throw;
  } catch (...) {
    witness_left(c);
    throw;
  }
  witness_after(c);
}

void execute(Call& c) {
  Context& context = wp::context();
  const Enter enter(context, c);
  if (context.rule) [[unlikely]]
    c.running.place = context.rule->place;
  check_arguments(c);
  try {
    witnessed() ? run_witnessed(c, context) : run(c, context);
  } catch (const std::bad_alloc&) {
    memory::refuse_scratch();
  } catch (const std::length_error&) {  // more elements than a vector can have
    memory::refuse_scratch();
  }
}

}  // namespace

const Tensor& Call::given_memory(DType dtype, const Dims& shape) {
  const Tensor& t = *(*aside->into)[out.size()];
  if (!t.defined()) refuse<ArgumentError>("WP-ARG-002", "out has no memory.", "Make it with empty(shape).");
  if (t.dtype() != dtype)
    refuse<DtypeError>("WP-DTY-003", say("out must be ", dtype, ", as the result; it is ", t.dtype(), "."));
  if (t.shape() != shape)
    refuse<ShapeError>("WP-SHP-001",
                       say("out must have the shape of the result, ", shape, "; it has ", t.shape(), "."));
  detail::Node& n = *t.node();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].defined() && in[i].node() == &n)
      refuse<ArgumentError>("WP-ARG-001",
                            "out is an argument of the call: it would be overwritten while it is read.");
  if (n.refs.load(std::memory_order_acquire) != 1) witness_overwritten(t);
  if (n.refs.load(std::memory_order_acquire) != 1 || n.owner || n.borrowed || n.id != 0)
    refuse<ArgumentError>("WP-ARG-001",
                          say("out shares its memory with ",
                              n.owner      ? "the tensor that it is a view of"
                              : n.borrowed ? "its lender"
                              : n.id != 0  ? "a tape"
                                           : "another tensor",
                              ": writing would change what they see."),
                          "Give a tensor of its own; let go of copies of the last result.");
  return t;
}

Listener* listen(Observer& o) {
  Context& c = context();
  return c.listeners = new Listener{&o, c.listeners};
}
void silence(Listener* l) noexcept {
  for (Listener** at = &context().listeners; *at; at = &(*at)->outer)
    if (*at == l) {
      *at = l->outer;
      delete l;
      return;
    }
  l->observer = nullptr;  // another thread lists it: it stays there, deaf
}

Tensors call(const Op& op, Inputs in, Attrs attrs, const Place& place) {
  Call c(op, in, attrs, place);
  execute(c);
  return std::move(c.out);
}

Tensor call1(const Op& op, Inputs in, Attrs attrs, const Place& place) {
  Call c(op, in, attrs, place);
  execute(c);
  return std::move(c.out[0]);
}

Tensor call_consuming(const Op& op, Inputs in, Attrs attrs, const Place& place) {
  Call c(op, in, attrs, place);
  bool kept = false;
  for (const Listener* l = context().listeners; l; l = l->outer) kept |= l->observer && l->observer->keeps();
  c.consumes_first = !kept && in[0].node()->id == 0;
  execute(c);
  return std::move(c.out[0]);
}

Tensors call_into(const Op& op, Inputs in, Attrs attrs, const Place& place, Into into) {
  Call c(op, in, attrs, place);
  if (!into.empty()) c.beside().into = &into;
  execute(c);
  return std::move(c.out);
}

Tensor call_into(const Op& op, Inputs in, Attrs attrs, const Place& place, Tensor* into) {
  return std::move(call_into(op, in, attrs, place, Into(&into, into ? 1 : 0))[0]);
}

linalg::Diagnosed<Tensors> call_diagnosed(const Op& op, Inputs in, Attrs attrs, const Place& place, Into into) {
  Call c(op, in, attrs, place);
  c.diagnosed = true;
  if (!into.empty()) c.beside().into = &into;
  execute(c);
  return {std::move(c.out), c.beside().diagnosis};
}

linalg::Diagnosed<Tensors> call_prepared(const Op& op, Inputs in, Attrs attrs, const Place& place,
                                         std::shared_ptr<const Prepared> prepared, bool diagnosed) {
  Call c(op, in, attrs, place);
  c.diagnosed = diagnosed;
  c.beside().prepared = std::move(prepared);
  execute(c);
  return {std::move(c.out), c.beside().diagnosis};
}

const Op* find_op(std::string_view qualified_name) {
  for (const Op* op : op_table()) {
    const std::string full = op->ns.empty() ? std::string(op->name) : say(op->ns, '.', op->name);
    if (full == qualified_name) return op;
  }
  return nullptr;
}

}  // namespace wp
