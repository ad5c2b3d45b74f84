#include "autodiff/step.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace wp::autodiff {
namespace {

constexpr std::size_t kChunk = 1 << 16;

// Chunks that tapes of this thread gave back: the next one needs no new pages.
struct Spare {
  std::vector<std::unique_ptr<std::byte[]>> chunks;
  static constexpr std::size_t most = 64;
};
thread_local Spare spare;

// Numbers and pointers are left as they are: the caller sets them.
template <class T>
T* construct(std::byte*& at, std::size_t n) {
  static_assert(alignof(T) <= alignof(std::max_align_t) && sizeof(T) % 4 == 0);
  T* const first = reinterpret_cast<T*>(at);
  std::uninitialized_default_construct_n(first, n);
  at += n * sizeof(T);
  return first;
}

bool is_of(const Fact& f, const Tensor& t) noexcept {
  return f.dtype == t.dtype() && f.shape == t.shape();
}

}  // namespace

void refuse_derivative(const Op& op, std::string_view where, std::string_view what, std::string_view reason) {
  if (reason.empty()) reason = op.no_derivative.empty() ? "its rule is missing." : op.no_derivative;
  refuse<GradientError>("WP-GRD-001", say(op.name, where, " has no derivative", what, ": ", reason),
                        op.vjp || op.advice.empty()
                            ? "Use a smooth stand-in, or stop_gradient where the value is meant as a constant."
                            : std::string(op.advice));
}

void Alone::none() const {
  refuse<GradientError>("WP-GRD-001",
                        say("forward mode is not available at repeated or vanishing values of ", op.name, "."),
                        "Use reverse mode (GradientTape).");
}

std::byte* Steps::take(std::size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (static_cast<std::size_t>(end_ - at_) < bytes) {
    const std::size_t size = std::max(kChunk, bytes);
    if (size == kChunk && !spare.chunks.empty()) {
      chunks_.push_back(std::move(spare.chunks.back()));
      spare.chunks.pop_back();
    } else {
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      if (size > kChunk) large_ = true;
    }
    at_ = chunks_.back().get();
    end_ = at_ + size;
  }
  std::byte* const piece = at_;
  at_ += bytes;
  return piece;
}

const Fact Step::nothing;

const Fact* Steps::fact_of(const Tensor& t) {
  if (!t.defined()) return &Step::nothing;
  for (const Fact* const f : recent_) {
    if (!f) break;
    if (is_of(*f, t)) return f;
  }
  facts_.push_front({t.shape(), t.dtype()});
  return recent_[next_++ % recent_.size()] = &facts_.front();
}

Step& Steps::add(const Call& c) {
  const std::size_t in = c.in.size(), out = c.out.size(), residuals = c.aside ? c.aside->residuals.size() : 0,
                    attrs = c.attrs.size(), tensors = in + out + residuals;
  std::byte* at = take(sizeof(Step) + (in + out) * (sizeof(const Fact*) + sizeof(std::int32_t)) +
                       tensors * sizeof(Tensor) + attrs * sizeof(Attr));
  const Context& here = context();
  Step* const s = new (at) Step{.op = &c.op,
                                .place = c.place(),
                                .scope = here.scope,
                                .number = here.step,
                                .inputs = static_cast<std::uint32_t>(in),
                                .outputs = static_cast<std::uint32_t>(out),
                                .residuals = static_cast<std::uint32_t>(residuals),
                                .attrs = static_cast<std::uint32_t>(attrs)};
  at += sizeof(Step);
  const Fact** const facts = construct<const Fact*>(at, in + out);
  const Fact* last = recent_[0];  // tensors of a call are often alike
  for (std::size_t i = 0; i < in + out; ++i) {
    const Tensor& t = i < in ? c.in[i] : c.out[i - in];
    if (facts[i] = last && t.defined() && is_of(*last, t) ? last : fact_of(t); t.defined()) last = facts[i];
  }
  s->facts = facts;
  s->saved = construct<Tensor>(at, tensors);
  s->attr = construct<Attr>(at, attrs);
  s->slots = construct<std::int32_t>(at, in + out);
  if (c.aside) s->keepsake = c.aside->keepsake;
  steps_.push_back(s);
  return *s;
}

void Steps::clear() noexcept {
  for (Step* s : steps_) {
    std::destroy_n(s->saved, s->inputs + s->outputs + s->residuals);
    std::destroy_n(s->attr, s->attrs);
    std::destroy_at(s);
  }
  steps_.clear();
  facts_.clear();
  recent_ = {};
  if (!large_)
    for (auto& chunk : chunks_)
      if (spare.chunks.size() < Spare::most) spare.chunks.push_back(std::move(chunk));
  chunks_.clear();
  large_ = false;
  at_ = end_ = nullptr;
}

}  // namespace wp::autodiff
