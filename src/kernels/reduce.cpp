#include "kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/pool.hpp"
#include "kernels/convert.hpp"
#include "kernels/walk.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kPieceBlocks = 64;         // blocks of one row that one piece of parallel work reduces
constexpr std::int64_t kPieceElements = 1 << 18;  // the same for strips of columns, in elements
constexpr std::int64_t kRowBytes = 1 << 14;       // of a strip: wide strips read memory page by page
constexpr std::int64_t kFoldWidth = 512;          // narrow rows are joined to wide ones of this length
constexpr std::int64_t kTileWidth = 128;          // columns of a strip whose elements are brought to a buffer

using Buffer = std::unique_ptr<std::byte[]>;
Buffer buffer(std::int64_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
}

std::int64_t count_of(const Dims& d) {
  std::int64_t n = 1;
  for (const std::int64_t k : d) n *= k;
  return n;
}

// Position of row-major element i of an array with these strides.
std::int64_t offset_of(std::int64_t i, const Dims& shape, const Dims& strides) {
  std::int64_t offset = 0;
  for (std::size_t k = shape.size(); k-- > 1;) {
    offset += i % shape[k] * strides[k];
    i /= shape[k];
  }
  return shape.empty() ? 0 : offset + i * strides[0];
}

// Joins partial results pairwise, like the carries of a binary counter: level i holds 2^i of them, `width` states
// each.
class Cascade {
 public:
  static constexpr std::int64_t kMaxLevels = 52;
  static std::int64_t slots(std::int64_t parts) { return std::bit_width(static_cast<std::uint64_t>(parts)) + 1; }
  // `memory` holds slots(parts) × width states.
  Cascade(const Reduction& r, std::int64_t width, std::int64_t parts, std::byte* memory) : r_(r), width_(width) {
    const std::int64_t bytes = static_cast<std::int64_t>(r.state) * width, levels = slots(parts) - 1;
    for (std::int64_t i = 0; i < levels; ++i) level_[i] = memory + i * bytes;
    fresh_ = memory + levels * bytes;
  }
  std::byte* fresh() noexcept { return fresh_; }  // where the next part is to be written
  void add() {                                    // takes what stands there
    int i = 0;
    for (; (count_ >> i) & 1; ++i) {
      r_.join(level_[i], fresh_, width_);
      std::swap(level_[i], fresh_);
    }
    std::swap(level_[i], fresh_);
    ++count_;
  }
  // All parts; at least one was added.
  const std::byte* total() {
    int i = std::countr_zero(count_);
    std::byte* sum = level_[i];
    for (++i; (count_ >> i) != 0; ++i) {
      if (!((count_ >> i) & 1)) continue;
      r_.join(level_[i], sum, width_);
      sum = level_[i];
    }
    return sum;
  }

 private:
  const Reduction& r_;
  std::int64_t width_;
  std::uint64_t count_ = 0;
  std::byte* level_[kMaxLevels];
  std::byte* fresh_;
};

// ---- rows: each run is contiguous, or is brought to a buffer block by block
// -----------------------------------------
struct Rows {
  const Reduction& r;
  const ReducePlan& p;
  std::int64_t n;
  std::int64_t item = static_cast<std::int64_t>(size_of(p.dtype));
  std::int64_t inner = 0;  // length of the contiguous stretches of a run; 0: brought to a buffer
  Dims outer, outer_strides;
  std::int64_t per_inner = 0, blocks = 0;
  // Long stretches are read as sheets of r.rows rows of kColumnWidth: memory answers several streams faster than one.
  std::int64_t sheet = r.rows * kColumnWidth, sheets = 0;

  Rows(const Reduction& reduction, const ReducePlan& plan, std::int64_t length) : r(reduction), p(plan), n(length) {
    const std::size_t last = p.reduced.size() - 1;
    const bool direct = p.dtype == r.in && (p.reduced.empty() || p.reduced_strides[last] == 1);
    if (direct && (p.reduced.size() <= 1 || p.reduced[last] >= 512)) inner = p.reduced.empty() ? 1 : p.reduced[last];
    for (std::size_t k = 0; inner && k + 1 < p.reduced.size(); ++k) {
      outer.push_back(p.reduced[k]);
      outer_strides.push_back(p.reduced_strides[k]);
    }
    sheets = r.columns[0] ? inner / sheet : 0;
    per_inner = ((inner ? inner - sheets * sheet : n) + kReduceBlock - 1) / kReduceBlock;
    blocks = inner ? n / inner * per_inner : per_inner;
  }
  const char* start(std::int64_t out) const { return p.x + offset_of(out, p.kept, p.kept_strides) * item; }
  void block(const char* x, std::int64_t i, void* state) const {
    const auto fn = r.block[static_cast<int>(simd::isa())];
    const std::int64_t from = sheets * sheet + i % per_inner * kReduceBlock;
    if (inner) {
      const std::int64_t at = from + offset_of(i / per_inner, outer, outer_strides);
      return fn(x + at * item, std::min(kReduceBlock, inner - from), state);
    }
    const std::int64_t m = std::min(kReduceBlock, n - from);
    alignas(64) char elements[kReduceBlock * 16];
    gather(elements, r.in, x, p.dtype, p.reduced, p.reduced_strides, from, m);
    fn(elements, m, state);
  }
  // Joins blocks [begin, end), at most 2 · kPieceBlocks of them, into `state`.
  void span(const char* x, std::int64_t begin, std::int64_t end, void* state) const {
    if (end - begin == 1) return block(x, begin, state);
    alignas(64) std::byte memory[kStateBytes * 10];
    Cascade cascade(r, 1, end - begin, memory);
    for (std::int64_t i = begin; i < end; ++i) {
      block(x, i, cascade.fresh());
      cascade.add();
    }
    std::memcpy(state, cascade.total(), r.state);
  }
  // Pieces of parallel work in one run: sheets and what is left of each stretch; or groups of blocks.
  std::int64_t pieces() const {
    if (sheets == 0) return (blocks + kPieceBlocks - 1) / kPieceBlocks;
    return n / inner * (sheets + (per_inner > 0));
  }
  void piece(const char* x, std::int64_t k, void* state) const {
    if (sheets == 0) return span(x, k * kPieceBlocks, std::min(blocks, (k + 1) * kPieceBlocks), state);
    const std::int64_t per = sheets + (per_inner > 0), stretch = k / per, j = k % per;
    if (j == sheets) return span(x, stretch * per_inner, (stretch + 1) * per_inner, state);
    const auto bytes = static_cast<std::int64_t>(r.state);
    const Buffer states = buffer(kColumnWidth * bytes);
    const std::int64_t at = offset_of(stretch, outer, outer_strides) + j * sheet;
    r.columns[static_cast<int>(simd::isa())](x + at * item, kColumnWidth, r.rows, kColumnWidth, states.get());
    for (std::int64_t half = kColumnWidth / 2; half > 0; half /= 2)
      r.join(states.get(), states.get() + half * bytes, half);
    std::memcpy(state, states.get(), r.state);
  }
};

std::uint32_t by_rows(const Reduction& r, const ReducePlan& p, std::int64_t outs, std::int64_t n) {
  const Rows rows(r, p, n);
  const auto out_size = static_cast<std::int64_t>(size_of(r.out)), state = static_cast<std::int64_t>(r.state);
  const std::int64_t pieces = rows.pieces();
  if (pieces == 1) {  // whole rows in parallel
    std::atomic<std::uint32_t> bits{0};
    parallel_for(outs, std::max<std::int64_t>(1, kGrain / n), [&](std::int64_t begin, std::int64_t end) {
      simd::Status status;
      alignas(64) std::byte total[kStateBytes];
      for (std::int64_t o = begin; o < end; ++o) {
        rows.piece(rows.start(o), 0, total);
        r.finish(total, n, p.param, p.out + o * out_size, &status);
      }
      if (status.bits) bits.fetch_or(status.bits, std::memory_order_relaxed);
    });
    return bits.load();
  }
  const Buffer parts = buffer(pieces * state), memory = buffer(Cascade::slots(pieces) * state);
  simd::Status status;
  for (std::int64_t o = 0; o < outs; ++o) {
    const char* const x = rows.start(o);
    parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) rows.piece(x, k, parts.get() + k * state);
    });
    Cascade cascade(r, 1, pieces, memory.get());
    for (std::int64_t k = 0; k < pieces; ++k) {
      std::memcpy(cascade.fresh(), parts.get() + k * state, r.state);
      cascade.add();
    }
    r.finish(cascade.total(), n, p.param, p.out + o * out_size, &status);
  }
  return status.bits;
}

// ---- columns: neighbouring results are folded together, row by row
// -------------------------------------------------
struct Columns {
  const Reduction& r;
  const ReducePlan& p;
  std::int64_t n, length, step, out_step = 1;  // of the kept axis that runs along the columns
  Dims outer, outer_strides, outer_out_strides;
  std::int64_t item = static_cast<std::int64_t>(size_of(p.dtype)), state = static_cast<std::int64_t>(r.state);
  bool direct;            // rows can be read in place
  std::int64_t fold = 1;  // narrow contiguous rows are taken `fold` at a time as one wide row
  std::int64_t width, strips, chunk, piece, pieces;

  Columns(const Reduction& reduction, const ReducePlan& plan, std::int64_t rows, std::size_t axis)
      : r(reduction), p(plan), n(rows), length(plan.kept[axis]), step(plan.kept_strides[axis]) {
    Dims out_strides(p.kept.size(), 1);
    for (std::size_t k = p.kept.size(); k-- > 1;) out_strides[k - 1] = out_strides[k] * p.kept[k];
    out_step = out_strides[axis];
    for (std::size_t k = 0; k < p.kept.size(); ++k) {
      if (k == axis) continue;
      outer.push_back(p.kept[k]);
      outer_strides.push_back(p.kept_strides[k]);
      outer_out_strides.push_back(out_strides[k]);
    }
    direct = p.dtype == r.in && step == 1 && p.reduced.size() == 1;
    if (direct && n > kChain && p.reduced_strides[0] == length && length <= kFoldWidth / 2)
      fold = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(kFoldWidth / length)));
    width = std::min(length, direct ? std::min(kColumnWidth, kRowBytes / item) : kTileWidth);
    strips = (length + width - 1) / width;
    chunk = r.rows * fold;
    piece = std::max<std::int64_t>(1, kPieceElements / (chunk * width)) * chunk;
    pieces = (n + piece - 1) / piece;
  }
  std::int64_t strip_width(std::int64_t s) const { return std::min(width, length - s % strips * width); }
  const char* start(std::int64_t s) const {
    return p.x + (offset_of(s / strips, outer, outer_strides) + s % strips * width * step) * item;
  }
  // w states of rows [from, from + rows), rows ≤ chunk.
  void rows(const char* x, std::int64_t from, std::int64_t rows, std::int64_t w, std::byte* tile,
            std::byte* states) const {
    const auto fn = r.columns[static_cast<int>(simd::isa())];
    if (!direct) {
      const auto size = static_cast<std::int64_t>(size_of(r.in));
      for (std::int64_t i = 0; i < rows; ++i)
        convert(tile + i * w * size, r.in, x + offset_of(from + i, p.reduced, p.reduced_strides) * item, p.dtype,
                step, w);
      return fn(tile, w, rows, w, states);
    }
    const std::int64_t stride = p.reduced_strides[0], wide = rows / fold, rest = rows % fold;
    x += from * stride * item;
    if (fold == 1) return fn(x, stride, rows, w, states);
    alignas(64) std::byte folded[kFoldWidth * kStateBytes];
    if (wide) {
      fn(x, fold * stride, wide, fold * w, folded);
      for (std::int64_t half = fold / 2; half > 0; half /= 2) r.join(folded, folded + half * w * state, half * w);
      std::memcpy(states, folded, static_cast<std::size_t>(w * state));
    }
    if (rest == 0) return;
    fn(x + wide * fold * stride * item, stride, rest, w, wide ? folded : states);
    if (wide) r.join(states, folded, w);
  }
  // w states of rows [from, to) of strip s.
  void span(std::int64_t s, std::int64_t from, std::int64_t to, std::byte* tile, std::byte* states) const {
    const std::int64_t w = strip_width(s), chunks = (to - from + chunk - 1) / chunk;
    const char* const x = start(s);
    if (chunks == 1) return rows(x, from, to - from, w, tile, states);
    const Buffer memory = buffer(Cascade::slots(chunks) * w * state);
    Cascade cascade(r, w, chunks, memory.get());
    for (std::int64_t i = from; i < to; i += chunk) {
      rows(x, i, std::min(chunk, to - i), w, tile, cascade.fresh());
      cascade.add();
    }
    std::memcpy(states, cascade.total(), static_cast<std::size_t>(w * state));
  }
  Buffer tile() const {
    return direct ? Buffer() : buffer(std::min(n, chunk) * width * static_cast<std::int64_t>(size_of(r.in)));
  }
  void finish(std::int64_t s, const std::byte* states, simd::Status& status) const {
    const auto out_size = static_cast<std::int64_t>(size_of(r.out));
    const std::int64_t first = offset_of(s / strips, outer, outer_out_strides) + s % strips * width * out_step;
    for (std::int64_t k = 0, w = strip_width(s); k < w; ++k)
      r.finish(states + k * state, n, p.param, p.out + (first + k * out_step) * out_size, &status);
  }
};

std::uint32_t by_columns(const Columns& c) {
  const std::int64_t tasks = count_of(c.outer) * c.strips;
  std::atomic<std::uint32_t> bits{0};
  if (c.pieces == 1) {
    parallel_for(tasks, std::max<std::int64_t>(1, kGrain / (c.n * c.width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   const Buffer tile = c.tile(), states = buffer(c.width * c.state);
                   simd::Status status;
                   for (std::int64_t s = begin; s < end; ++s) {
                     c.span(s, 0, c.n, tile.get(), states.get());
                     c.finish(s, states.get(), status);
                   }
                   if (status.bits) bits.fetch_or(status.bits, std::memory_order_relaxed);
                 });
    return bits.load();
  }
  const std::int64_t part = c.width * c.state;
  const Buffer parts = buffer(tasks * c.pieces * part);
  parallel_for(tasks * c.pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    const Buffer tile = c.tile();
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t from = t % c.pieces * c.piece;
      c.span(t / c.pieces, from, std::min(c.n, from + c.piece), tile.get(), parts.get() + t * part);
    }
  });
  const Buffer memory = buffer(Cascade::slots(c.pieces) * part);
  simd::Status status;
  for (std::int64_t s = 0; s < tasks; ++s) {
    const std::int64_t w = c.strip_width(s);
    Cascade cascade(c.r, w, c.pieces, memory.get());
    for (std::int64_t k = 0; k < c.pieces; ++k) {
      std::memcpy(cascade.fresh(), parts.get() + (s * c.pieces + k) * part, static_cast<std::size_t>(w * c.state));
      cascade.add();
    }
    c.finish(s, cascade.total(), status);
  }
  return status.bits;
}

// The kept axis to run along: where its elements are closer together than those of the runs, or runs are short.
// −1: take the runs one after the other.
int column_axis(const ReducePlan& p) {
  int best = -1;
  for (std::size_t k = 0; k < p.kept.size(); ++k)
    if (p.kept[k] >= 4 && (best < 0 || std::abs(p.kept_strides[k]) < std::abs(p.kept_strides[best])))
      best = static_cast<int>(k);
  if (best < 0 || p.reduced.empty()) return best;
  std::size_t inner = 0;
  for (std::size_t k = 1; k < p.reduced.size(); ++k)
    if (std::abs(p.reduced_strides[k]) < std::abs(p.reduced_strides[inner])) inner = k;
  const bool closer = std::abs(p.kept_strides[best]) < std::abs(p.reduced_strides[inner]);
  const bool longer = p.reduced[inner] <= kChain && p.kept[best] > p.reduced[inner];
  return closer || longer ? best : -1;
}

}  // namespace

std::uint32_t reduce(const Reduction& r, ReducePlan p) {
  const std::int64_t outs = count_of(p.kept), n = count_of(p.reduced);
  if (outs == 0) return 0;
  if (n == 0) {
    simd::Status status;
    alignas(64) std::byte state[kStateBytes];
    r.start(state);
    for (std::int64_t o = 0; o < outs; ++o)
      r.finish(state, 0, p.param, p.out + o * static_cast<std::int64_t>(size_of(r.out)), &status);
    return status.bits;
  }
  Dims* reduced = &p.reduced_strides;
  coalesce(p.reduced, &reduced, 1);
  Dims* kept = &p.kept_strides;
  coalesce(p.kept, &kept, 1);
  const int axis = r.columns[0] ? column_axis(p) : -1;
  return axis < 0 ? by_rows(r, p, outs, n) : by_columns(Columns(r, p, n, static_cast<std::size_t>(axis)));
}

}  // namespace wp::kernels
