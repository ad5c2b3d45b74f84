// Answers timing requests on stdin, so that it stays warm between them:
//   op dtype shape checks milliseconds  →  nanoseconds per call (median of batches), or "missing"
// The number of threads is WELLPOSED_THREADS; BENCH_CPU_TIME counts processor time instead of elapsed time. With
// arguments instead (op dtype shape checks calls) it makes that many calls and ends: two such runs under callgrind
// give the instructions per call.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/pool.hpp"
#include "kernels/batched/lanes.hpp"
#include "kernels/blas.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/convert.hpp"
#include "kernels/lu.hpp"
#include "kernels/scan.hpp"
#include "ops/dispatch.hpp"
#include "tape.hpp"
#include "wellposed/threads.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using Work = std::function<void()>;

wp::Dims parse_shape(const std::string& text) {
  wp::Dims shape;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, 'x');) shape.push_back(std::stoll(part));
  return shape;
}

// Positive numbers: inside the domain of every function measured.
wp::Tensor operand(wp::DType dtype, const wp::Dims& shape, unsigned seed) {
  wp::Tensor t = wp::Tensor::adopt(wp::detail::make_node(dtype, shape));
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<std::size_t>(t.size()));
  for (double& v : values) v = std::uniform_real_distribution<double>(0.1, 1)(random);
  wp::kernels::convert(t.node()->data, dtype, values.data(), wp::f64, 1, t.size());
  return t;
}

// The references: what this machine's memory does, on the same threads. One piece per thread: memcpy then knows how
// much it moves and may bypass the caches.
std::int64_t piece_of(const wp::Tensor& x) {
  return (static_cast<std::int64_t>(x.nbytes()) / wp::threads() / 256 + 1) * 256;
}
Work copy_bytes(const wp::Tensor& x) {
  const wp::Tensor y = operand(x.dtype(), x.shape(), 2);
  return [x, y] {
    wp::parallel_for(static_cast<std::int64_t>(x.nbytes()), piece_of(x), [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(y.node()->data + begin, x.node()->data + begin, static_cast<std::size_t>(end - begin));
    });
  };
}
std::uint64_t fold(const char* data, std::int64_t bytes) {
  typedef std::uint64_t Line __attribute__((vector_size(64), aligned(8), may_alias));
  const auto* p = reinterpret_cast<const Line*>(data);
  Line a{}, b{}, c{}, d{};
  for (std::int64_t i = 0; i + 4 <= bytes / 64; i += 4) {
    a |= p[i];
    b |= p[i + 1];
    c |= p[i + 2];
    d |= p[i + 3];
  }
  a |= b | c | d;
  return a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7];
}
Work read_bytes(const wp::Tensor& x) {
  return [x] {
    std::atomic<std::uint64_t> seen{0};
    wp::parallel_for(static_cast<std::int64_t>(x.nbytes()), piece_of(x), [&](std::int64_t begin, std::int64_t end) {
      seen |= fold(x.node()->data + begin, end - begin);
    });
  };
}

// Factorisations of a square x on fresh copies, as an op would make them. lu_solve has the right-hand sides y,
// plain_solve its first row.
template <class T>
std::optional<Work> factor_work(const std::string& name, const wp::Tensor& x, const wp::Tensor& y) {
  using namespace wp::kernels;
  const std::int64_t n = x.shape()[0];
  const auto fresh = [](const wp::Tensor& t) {
    wp::Tensor copy = wp::Tensor::adopt(wp::detail::make_node(t.dtype(), t.shape()));
    std::memcpy(copy.node()->data, t.node()->data, static_cast<std::size_t>(t.nbytes()));
    return copy;
  };
  const auto data = [](const wp::Tensor& t) { return reinterpret_cast<T*>(t.node()->data); };
  if (name == "cholesky_factor") {
    T* const a = data(x);  // symmetric, with a large diagonal
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) a[j * n + i] = a[i * n + j] += i == j ? static_cast<T>(n) : T(0);
    return [=] {
      const wp::Tensor f = fresh(x);
      (void)cholesky_factor<T>(n, {data(f), n, 1});
    };
  }
  if (name != "lu_factor" && name != "lu_solve" && name != "lu_inverse" && name != "plain_solve") return std::nullopt;
  return [=] {
    const wp::Tensor f = fresh(x);
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    (void)lu_factor<T>(n, n, data(f), n, pivots.data());
    if (name == "plain_solve") {
      std::vector<T> b(data(y), data(y) + n);
      lu_solve<T>(Form::plain, n, 1, {data(f), n, 1}, pivots.data(), {b.data(), 1, 1});
    } else if (name == "lu_solve") {
      const wp::Tensor b = fresh(y);
      lu_solve<T>(Form::plain, n, n, {data(f), n, 1}, pivots.data(), {data(b), n, 1});
    } else if (name == "lu_inverse") {
      const wp::Tensor inverse = wp::Tensor::adopt(wp::detail::make_node(x.dtype(), x.shape()));
      lu_inverse<T>(n, {data(f), n, 1}, pivots.data(), data(inverse), n);
    }
  };
}

wp::Attr default_of(const wp::AttrSpec& spec) {
  if (!spec.required) return spec.fallback;
  return spec.type == wp::AttrType::ints ? wp::Attr(wp::Dims{-1}) : wp::Attr(-1);
}

// A kernel for stacks of small matrices by itself: no dispatch, no verdicts, and members in doubt left so. Empty:
// there is none for this op.
template <class T>
std::optional<Work> bare_work(const std::string& name, const wp::Tensor& x) {
  using namespace wp::kernels::batched;
  const std::int64_t n = x.shape().back(), members = x.size() / (n * n);
  const Source<T> a{reinterpret_cast<const T*>(x.node()->data), n * n, n, 1};
  using Kernel = std::function<void(Range, T * first, T * second, T * third, Marks)>;
  const std::map<std::string, Kernel> kernels = {
      {"inv", [=](Range r, T* y, T*, T*, Marks m) { inverse<T>(n, a, r, y, m); }},
      {"det", [=](Range r, T*, T* d, T*, Marks m) { determinant<T>(n, a, r, d, nullptr, m); }},
      {"cholesky", [=](Range r, T* l, T*, T*, Marks m) { cholesky<T>(n, a, Reads::both, false, r, l, m); }},
      {"qr", [=](Range r, T* q, T*, T* u, Marks m) { qr<T>(n, n, n, a, r, q, u, m); }},
      {"svd", [=](Range r, T* u, T* s, T* vh, Marks m) { svd<T>(n, n, false, a, r, u, s, vh, m); }},
      {"eigh", [=](Range r, T* v, T* w, T*, Marks m) { eigh<T>(n, a, Reads::both, r, w, v, m); }}};
  const auto found = kernels.find(name);
  if (found == kernels.end()) return std::nullopt;
  return [=, kernel = found->second] {  // results are made anew, as an op makes them
    const auto fresh = [&](const wp::Dims& shape) {
      return wp::Tensor::adopt(wp::detail::make_node(x.dtype(), shape));
    };
    const bool two = name == "qr" || name == "svd";
    const wp::Tensor y = name == "det" ? wp::Tensor() : fresh(x.shape()), w = fresh({members, n}),
                     z = two ? fresh(x.shape()) : wp::Tensor();
    const auto data = [](const wp::Tensor& t) {
      return t.defined() ? reinterpret_cast<T*>(t.node()->data) : nullptr;
    };
    std::vector<std::uint8_t> redo(static_cast<std::size_t>(members));
    kernel({0, members}, data(y), data(w), data(z), {redo.data()});
  };
}

// Symmetric with a large diagonal: every decomposition exists, and is none of the easy ones.
wp::Tensor symmetric_operand(wp::DType dtype, const wp::Dims& shape) {
  const wp::Tensor x = operand(dtype, shape, 1);
  return (x + wp::matrix_transpose(x)) / 2.0 +
         wp::eye(shape.back(), {.dtype = dtype}) * static_cast<double>(shape.back());
}

// Every hundredth matrix gets its first row and column for its last ones, but for a share of the element in the
// corner.
void spoil(const wp::Tensor& x, double share) {
  const std::int64_t n = x.shape().back(), each = n * n;
  for (std::int64_t first = 0; first < x.size(); first += 100 * each) {
    double* const a = reinterpret_cast<double*>(x.node()->data) + first;
    std::copy_n(a, n, a + (n - 1) * n);
    for (std::int64_t i = 0; i < n; ++i) a[i * n + n - 1] = a[i * n];
    a[each - 1] *= 1 + share;
  }
}

std::optional<Work> work_of(const std::string& asked, wp::DType dtype, const wp::Dims& shape) {
  if (auto work = tape_work(asked, dtype, shape)) return work;
  const bool bare = asked.starts_with("bare."), doubtful = asked.starts_with("doubtful."),
             singular = asked.starts_with("singular.");
  const std::string name = bare || doubtful || singular ? asked.substr(asked.find('.') + 1) : asked;
  const bool symmetric = name == "linalg.cholesky" || name == "linalg.eigh" || name == "linalg.eigvalsh";
  const wp::Tensor x = symmetric ? symmetric_operand(dtype, shape) : operand(dtype, shape, 1);
  if (doubtful || singular) spoil(x, doubtful ? 1e-9 : 0);
  if (bare) {
    const std::string function = name.substr(name.find('.') + 1);
    return dtype == wp::f32 ? bare_work<float>(function, x) : bare_work<double>(function, x);
  }
  if (name == "copy") return copy_bytes(x);
  if (name == "read") return read_bytes(x);
  if (name == "all_finite") return [x] { (void)wp::kernels::any_nonfinite(x.dtype(), x.node()->data, x.size()); };
  const wp::Tensor y = shape.size() > 2 && name != "matmul" ? wp::Tensor() : operand(dtype, shape, 3);
  if (name == "+") return [x, y] { (void)(x + y); };
  if (auto work = dtype == wp::f32 ? factor_work<float>(name, x, y) : factor_work<double>(name, x, y)) return work;
  // solve_rcond: the answer is judged by rcond and growth; solve_refined: improved with exact residuals too.
  const bool rcond = name == "solve_rcond", refined = name == "solve_refined";
  const wp::Op* const op = wp::find_op(rcond || refined ? "linalg.solve" : name);
  if (!op) return std::nullopt;
  std::vector<wp::Attr> attrs;
  for (const wp::AttrSpec& spec : op->attrs)
    attrs.push_back((rcond || refined) && spec.name == "refine"       ? wp::Attr(refined)
                    : (doubtful || singular) && spec.name == "if_ill" ? wp::Attr("ignore")
                                                                      : default_of(spec));
  const std::size_t count = op->params.size();
  wp::Dims right = shape;  // one right-hand side per matrix
  right.back() = 1;
  const bool one_side = op->name == "solve" || op->name == "lstsq";
  const wp::Tensor b = one_side ? operand(dtype, shape.size() > 2 ? right : wp::Dims{shape[shape.size() - 2]}, 3) : y;
  return [x, b, op, attrs, count] {
    const wp::Tensor* const in[] = {&x, &b};
    (void)wp::call(*op, wp::Inputs(in, count), attrs, {});
  };
}

double now() {
  static const clockid_t clock = std::getenv("BENCH_CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
double run(const Work& work, std::int64_t calls) {
  const double start = now();
  for (std::int64_t i = 0; i < calls; ++i) work();
  return now() - start;
}

// As many calls as take 50 µs.
std::int64_t batch_of(const Work& work) {
  std::int64_t calls = 1;
  while (run(work, calls) < 5e4) calls *= 2;
  return calls;
}
// The median of the batches that the time allows.
double measure(const Work& work, std::int64_t calls, double milliseconds) {
  std::vector<double> times;
  for (double total = 0; total < milliseconds * 1e6;) {
    const double t = run(work, calls);
    total += t;
    times.push_back(t / static_cast<double>(calls));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6) {
    const wp::checks level{std::string_view(argv[4])};
    const auto work = work_of(argv[1], wp::parse_dtype(argv[2]), parse_shape(argv[3]));
    if (!work) return 1;
    for (long i = std::stol(argv[5]); i > 0; --i) (*work)();
    return 0;
  }
  std::cout << "isa " << wp::simd::name(wp::simd::isa()) << ", BLAS core " << wp::blas::core_name() << ", threads "
            << wp::threads() << std::endl;
  std::string key;
  std::optional<Work> work;  // of the last request: operands stay warm
  std::int64_t calls = 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string name, dtype, shape, checks;
    double milliseconds = 20;
    in >> name >> dtype >> shape >> checks >> milliseconds;
    const wp::checks level(checks);
    if (const std::string wanted = name + " " + dtype + " " + shape; wanted != key) {
      work = work_of(name, wp::parse_dtype(dtype), parse_shape(shape));
      key = wanted;
      if (work) calls = batch_of(*work);
    }
    if (work)
      std::cout << measure(*work, calls, milliseconds) << std::endl;
    else
      std::cout << "missing" << std::endl;
  }
}
