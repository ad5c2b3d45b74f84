#include "kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPieceBlocks = 64;   // blocks of one row that one piece of parallel work reduces
constexpr std::int64_t kColumnRows = 256;   // rows in one partial result of the column form
constexpr std::int64_t kColumnWidth = 256;  // columns taken together

std::int64_t count_of(const Dims& d) {
  std::int64_t n = 1;
  for (const std::int64_t k : d) n *= k;
  return n;
}

// Joins partial results pairwise, like the carries of a binary counter: levels[i] holds 2^i of them.
class Cascade {
 public:
  Cascade(const Reduction& r, std::int64_t width)
      : r_(r), bytes_(r.state * static_cast<std::size_t>(width)), width_(width) {}
  // Takes `width` states from `fresh`.
  void add(const std::byte* fresh) {
    carry_.assign(fresh, fresh + bytes_);
    std::size_t level = 0;
    for (; (count_ >> level) & 1; ++level) {
      join(at(level), carry_.data());  // the earlier part first
      carry_.assign(at(level), at(level) + bytes_);
    }
    if (levels_.size() < (level + 1) * bytes_) levels_.resize((level + 1) * bytes_);
    std::copy(carry_.begin(), carry_.end(), at(level));
    ++count_;
  }
  // The total; at least one add() has happened.
  const std::byte* total() {
    bool first = true;
    for (std::size_t level = 0; (count_ >> level) != 0; ++level) {
      if (!((count_ >> level) & 1)) continue;
      if (!first) join(at(level), carry_.data());
      carry_.assign(at(level), at(level) + bytes_);
      first = false;
    }
    return carry_.data();
  }

 private:
  std::byte* at(std::size_t level) { return levels_.data() + level * bytes_; }
  void join(std::byte* into, const std::byte* from) {
    for (std::int64_t k = 0; k < width_; ++k)
      r_.join(into + static_cast<std::size_t>(k) * r_.state, from + static_cast<std::size_t>(k) * r_.state);
  }
  const Reduction& r_;
  std::size_t bytes_;
  std::int64_t width_;
  std::uint64_t count_ = 0;
  std::vector<std::byte> levels_, carry_;
};

struct Row {  // one reduced run: where it starts, and how to read it
  const Reduction& r;
  const ReducePlan& p;
  bool direct;  // contiguous and of the right dtype
  const char* start(std::int64_t out) const {
    std::int64_t offset = 0;
    for (std::size_t k = p.kept.size(); k-- > 0;) {
      offset += out % p.kept[k] * p.kept_strides[k];
      out /= p.kept[k];
    }
    return p.x + offset * static_cast<std::int64_t>(size_of(p.dtype));
  }
  // The partial result of elements [from, from + n) of the run, n ≤ kReduceBlock.
  void block(const char* x, std::int64_t from, std::int64_t n, std::byte* state) const {
    const auto fn = r.block[static_cast<int>(simd::isa())];
    if (direct) return fn(x + from * static_cast<std::int64_t>(size_of(p.dtype)), n, state);
    alignas(64) char buffer[kReduceBlock * 16];
    gather(buffer, r.in, x, p.dtype, p.reduced, p.reduced_strides, from, n);
    fn(buffer, n, state);
  }
  // Joins the blocks of [from, to) into `state`.
  void span(const char* x, std::int64_t from, std::int64_t to, std::byte* state) const {
    if (to - from <= kReduceBlock) return block(x, from, to - from, state);
    Cascade cascade(r, 1);
    alignas(64) std::byte part[256];
    for (std::int64_t i = from; i < to; i += kReduceBlock) {
      block(x, i, std::min(kReduceBlock, to - i), part);
      cascade.add(part);
    }
    std::memcpy(state, cascade.total(), r.state);
  }
};

std::uint32_t by_rows(const Reduction& r, const ReducePlan& p, std::int64_t outs, std::int64_t n) {
  const Row row{r, p, p.dtype == r.in && p.reduced.size() <= 1 && (p.reduced.empty() || p.reduced_strides[0] == 1)};
  std::atomic<std::uint32_t> bits{0};
  const std::int64_t piece = kReduceBlock * kPieceBlocks, out_size = static_cast<std::int64_t>(size_of(r.out));
  if (n <= piece) {  // whole rows in parallel
    parallel_for(outs, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(n, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   simd::Status status;
                   alignas(64) std::byte state[256];
                   for (std::int64_t o = begin; o < end; ++o) {
                     row.span(row.start(o), 0, n, state);
                     r.finish(state, n, p.param, p.out + o * out_size, &status);
                   }
                   if (status.bits) bits.fetch_or(status.bits);
                 });
    return bits.load();
  }
  const std::int64_t pieces = (n + piece - 1) / piece;
  std::vector<std::byte> states(static_cast<std::size_t>(pieces) * r.state);
  simd::Status status;
  for (std::int64_t o = 0; o < outs; ++o) {
    const char* const x = row.start(o);
    parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        row.span(x, k * piece, std::min(n, (k + 1) * piece), states.data() + static_cast<std::size_t>(k) * r.state);
    });
    Cascade cascade(r, 1);
    for (std::int64_t k = 0; k < pieces; ++k) cascade.add(states.data() + static_cast<std::size_t>(k) * r.state);
    r.finish(cascade.total(), n, p.param, p.out + o * out_size, &status);
  }
  return status.bits;
}

// The last kept axis is contiguous and there is one reduced run: fold rows into a strip of columns.
std::uint32_t by_columns(const Reduction& r, const ReducePlan& p, std::int64_t outs, std::int64_t n) {
  const std::int64_t inner = p.kept.back(), strips = (inner + kColumnWidth - 1) / kColumnWidth;
  const std::int64_t item = static_cast<std::int64_t>(size_of(p.dtype)),
                     out_size = static_cast<std::int64_t>(size_of(r.out));
  const std::int64_t stride = p.reduced_strides[0];
  const Row row{r, p, true};
  const auto fn = r.columns[static_cast<int>(simd::isa())];
  std::atomic<std::uint32_t> bits{0};
  const std::int64_t cost = std::max<std::int64_t>(1, n * std::min(inner, kColumnWidth));
  parallel_for(outs / inner * strips, std::max<std::int64_t>(1, kGrain / cost),
               [&](std::int64_t begin, std::int64_t end) {
                 simd::Status status;
                 for (std::int64_t s = begin; s < end; ++s) {
                   const std::int64_t first = s / strips * inner + s % strips * kColumnWidth;
                   const std::int64_t w = std::min(kColumnWidth, inner - s % strips * kColumnWidth);
                   const char* const x = row.start(first);
                   std::vector<std::byte> part(r.state * static_cast<std::size_t>(w));
                   Cascade cascade(r, w);
                   for (std::int64_t i = 0; i < n; i += kColumnRows) {
                     fn(x + i * stride * item, stride, std::min(kColumnRows, n - i), w, part.data());
                     cascade.add(part.data());
                   }
                   const std::byte* const total = cascade.total();
                   for (std::int64_t k = 0; k < w; ++k)
                     r.finish(total + static_cast<std::size_t>(k) * r.state, n, p.param,
                              p.out + (first + k) * out_size, &status);
                 }
                 if (status.bits) bits.fetch_or(status.bits);
               });
  return bits.load();
}

}  // namespace

std::uint32_t reduce(const Reduction& r, ReducePlan p) {
  const std::int64_t outs = count_of(p.kept), n = count_of(p.reduced);
  if (outs == 0) return 0;
  simd::Status status;
  if (n == 0) {
    alignas(64) std::byte state[256];
    for (std::int64_t o = 0; o < outs; ++o) {
      r.start(state);
      r.finish(state, 0, p.param, p.out + o * static_cast<std::int64_t>(size_of(r.out)), &status);
    }
    return status.bits;
  }
  Dims* reduced = &p.reduced_strides;
  coalesce(p.reduced, &reduced, 1);
  Dims* kept = &p.kept_strides;
  coalesce(p.kept, &kept, 1);
  const bool run = p.reduced.size() == 1 && p.dtype == r.in;
  if (run && p.reduced_strides[0] != 1 && !p.kept.empty() && p.kept_strides.back() == 1 && p.kept.back() >= 4)
    return by_columns(r, p, outs, n);
  return by_rows(r, p, outs, n);
}

}  // namespace wp::kernels
