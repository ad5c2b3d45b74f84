// Findings (facts about numbers) and errors (misuse, or a finding that the policy raises).
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/small_vector.hpp"

namespace [[gnu::visibility("default")]] wp {

using Dims = SmallVector<std::int64_t, 8>;  // shapes, strides, axes, element indices

// A line of the user's program.
struct Place {
  const char* file = nullptr;
  const char* function = nullptr;
  std::uint32_t line = 0;

  constexpr Place() noexcept = default;
  constexpr Place(const char* f, std::uint32_t l, const char* fn = "") noexcept : file(f), function(fn), line(l) {}
  constexpr Place(const std::source_location& l) noexcept  // NOLINT: implicit on purpose
      : file(l.file_name()), function(l.function_name()), line(l.line()) {}
  bool known() const noexcept { return file != nullptr && *file != '\0'; }
  std::string text() const;  // "model.cpp:41", without directories
};

enum class Severity : std::uint8_t { note, warning, error };

// One fact about the numbers of one call: what was measured, what it means, what to do.
struct Finding {
  std::string code;  // stable: "WP-DOM-001"; all codes are listed in docs/findings.md
  Severity severity = Severity::warning;
  std::string op;
  std::string message;  // what rule, what was found
  std::string advice;   // what to do
  double measured = std::numeric_limits<double>::quiet_NaN();
  double threshold = std::numeric_limits<double>::quiet_NaN();
  std::int64_t count = 0;             // bad elements, or bad members of a batch
  std::vector<std::int64_t> members;  // the first bad members of a batch
  std::int64_t worst_member = -1;
  Dims element;                       // index of the first bad element
  std::vector<std::string> operands;  // "x[2] = 0": the values that met there
  std::string dtype, shape, scope;
  Place place;
  std::int64_t step = -1;

  std::string text() const;  // the report a person reads
  std::string json() const;
};

struct Subject;  // tensor/note.hpp: an element of a tensor

// Every exception of wellposed. what() is finding().text().
class Error : public std::runtime_error {
 public:
  explicit Error(Finding f, std::shared_ptr<const Subject> subject = nullptr)
      : std::runtime_error(f.text()), finding_(std::move(f)), subject_(std::move(subject)) {}
  const Finding& finding() const noexcept { return finding_; }
  // The element that it is about, for blame; null where the error tells all.
  const std::shared_ptr<const Subject>& subject() const noexcept { return subject_; }

 private:
  Finding finding_;
  std::shared_ptr<const Subject> subject_;
};
struct ArgumentError : Error {
  using Error::Error;
};  // a value outside what the function takes
struct ShapeError : Error {
  using Error::Error;
};
struct DtypeError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct DomainError : Error {
  using Error::Error;
};  // integer division by zero, NaN cast to an integer, …
struct NonFiniteError : Error {
  using Error::Error;
};  // a made Inf or NaN escaped (or was made, at level raise)
struct AssertionError : Error {
  using Error::Error;
};  // what a program asserts does not hold
struct GradientError : Error {
  using Error::Error;
};  // there is no derivative, or no way to it
struct GaugeError : GradientError {
  using GradientError::GradientError;
};  // the loss depends on a choice that the matrix does not determine: a basis of a repeated singular value
struct OutOfMemory : Error {
  using Error::Error;
};
struct FormatError : Error {
  using Error::Error;
};  // a file that is not what it says
struct FileError : Error {
  using Error::Error;
};  // a file that cannot be opened, read or written
struct InternalError : Error {
  using Error::Error;
};  // a defect of wellposed itself; please report it

}  // namespace gnu::visibility("default")]]wp
