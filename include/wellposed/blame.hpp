// Where a value comes from: which op made it, of which operands, or which row of which data set it was in.
//   Trace trace;                              // keeps the calls that run from here on, within limits
//   const Tensor x = with_rows(load("x.npy"), "data");
//   …
//   std::cout << blame(loss).text();          // loss ← mean ← log[3, 7] ← matmul[3, 7] ← data row 7311, column 4 =
//   nan
#pragma once
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "wellposed/error.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

namespace trace {
class Window;
}

// How much of the past is kept. What goes beyond is let go, the oldest first.
struct TraceOptions {
  std::size_t calls = 4096;
  // Of the tensors that calls took and gave, and of what they are views of: each counts once, as long as nobody else
  // holds it. With what others hold at most 16 times as much. The last call is kept whatever its size.
  std::size_t bytes = std::size_t{64} << 20;
  std::int64_t steps = 2;  // of set_step: what ran before the last so many of them; memory stays in the caches
};

// Keeps the calls of all threads while it lives, with their tensors. One at a time is asked by blame: the innermost.
// Of borrowed memory that an op read it keeps a copy (up to 64 KiB) or a checksum: blame and replay say what was
// changed since.
class [[nodiscard]] Trace {
 public:
  explicit Trace(const TraceOptions& options = {});
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  std::size_t calls() const;   // kept now
  std::size_t bytes() const;   // of tensors kept now that nobody else holds
  std::size_t let_go() const;  // calls that the limits pushed out
  void clear();

 private:
  std::unique_ptr<trace::Window> window_;
};

// The same tensor with a name that blame uses: a parameter's.
Tensor named(const Tensor& x, std::string name);
// The same tensor as a data set whose rows (entries of the first axis) are numbered 0, 1, 2, …, or as `rows` says.
// The numbers go along when rows are shuffled, batched or sliced.
Tensor with_rows(const Tensor& x, std::string name);
Tensor with_rows(const Tensor& x, std::string name, std::span<const std::int64_t> rows);
// The numbers of the rows of x in their data set (−1: from elsewhere); empty if it has none.
std::vector<std::int64_t> rows_of(const Tensor& x);

// One call on the way back: the element that was looked at.
struct BlameLink {
  std::string op;  // "log", "multiply in the derivative of tanh"
  Dims element;
  std::string dtype, shape, value, scope;
  Place place;
  std::int64_t step = -1;
};

// A way back from a value to its source.
struct Blame {
  enum class Source : std::uint8_t {
    op,       // an op made it of operands that were good
    data,     // it was in a row of a data set
    given,    // it came in with a tensor that no call made: a parameter, a constant
    unknown,  // the call that made it is not in the window
  } source = Source::unknown;

  BlameLink asked;                    // the value that was asked about
  std::vector<BlameLink> chain;       // calls from the last to the first
  std::vector<std::string> operands;  // what met at the source
  std::string advice;
  std::string name;                // of the data set or the tensor that came in
  std::int64_t row = -1;           // in the data set
  Dims entry;                      // within the row; of a tensor: the element
  std::string value;               // at the source
  std::vector<std::int64_t> rows;  // of data that the operands of an op rest on, when they are few
  std::string rows_name;
  std::int64_t spread = 0;  // results in the window that are not finite, the source's left out
  std::string missing;      // what the window could not tell, and how it could

  std::string text() const;  // the way in one line, then the source
  std::string json() const;
  void html(const std::string& path) const;  // a page with the way as a graph
};

// Of the first element that is not finite; of x[element], whatever it is.
Blame blame(const Tensor& x, std::source_location where = std::source_location::current());
Blame blame(const Tensor& x, const Dims& element, std::source_location where = std::source_location::current());
// Of what an error is about.
Blame blame(const Error& error);

}  // namespace gnu::visibility("default")]]wp
