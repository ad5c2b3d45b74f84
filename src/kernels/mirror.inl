#include "kernels/lines.inl"

// Rows of a block, `below` and its mirror image `above`: row r has min(width, first + r) elements.
template <class R>
void mirror_block(std::int64_t rows, std::int64_t width, std::int64_t first, const R* below, std::int64_t below_row,
                  const R* above, std::int64_t above_row, R* to, std::int64_t to_row, Found<R>& found) {
  constexpr std::int64_t lanes = lanes_of<R>;
  const auto size_of = [](Vec<R> v) __attribute__((always_inline)) {
    return std::bit_cast<Vec<R>>(std::bit_cast<Int<R>>(v) & simd::Format<R>::magnitude);
  };
  Vec<R> most = {}, far = {}, odd = {};
  for (std::int64_t r = 0; r < rows; ++r, below += below_row, above += above_row, to += to_row) {
    const std::int64_t count = width < first + r ? width : first + r;
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      const Vec<R> b = load_pack(below + j), a = load_pack(above + j), v = b == a ? b : b * R(0.5) + a * R(0.5);
      const Vec<R> size = size_of(v), difference = size_of(b - v);
      store_pack(to + j, v);
      most = size > most ? size : most;
      far = difference > far ? difference : far;
      odd += v - v;
    }
    for (; j < count; ++j) {
      const R b = below[j], a = above[j], v = b == a ? b : b * R(0.5) + a * R(0.5);
      to[j] = v;
      found.largest = std::fabs(v) > found.largest ? std::fabs(v) : found.largest;
      found.apart = std::fabs(b - v) > found.apart ? std::fabs(b - v) : found.apart;
      found.nothing += v - v;
    }
  }
  for (int s = 0; s < lanes; ++s) {
    found.largest = most[s] > found.largest ? most[s] : found.largest;
    found.apart = far[s] > found.apart ? far[s] : found.apart;
    found.nothing += odd[s];
  }
}
