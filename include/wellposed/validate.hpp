// Whether data is what a schema says, which elements are not, and schemas made from data.
#pragma once
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "wellposed/io.hpp"
#include "wellposed/schema.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// One element (row, matrix) that breaks a rule.
struct Offender {
  Dims index;             // of the element; of a row or a matrix: the leading part
  std::int64_t row = -1;  // the first index
  std::string value;
  std::string why;    // "is below 0"
  double excess = 0;  // how far outside: what `worst` is ordered by
};

struct RuleReport {
  std::string tensor, column;  // column: empty for rules of the whole tensor
  std::string rule, expected;  // "range", "[0, 1]"
  std::string code;            // of the finding
  bool holds = true;
  std::int64_t failed = 0, checked = 0;  // values, rows or matrices: `unit`
  std::string unit = "value";
  std::string message;  // of a rule that does not hold: "element [2, 0] = -0.1 is below 0; 1 of 6 values; row 2"
  std::string note;     // the error bound of a sketch, what was not looked at
  std::vector<Offender> first, worst;
  double measured = std::numeric_limits<double>::quiet_NaN();
};

// What was seen of a tensor or a column, whether or not a rule asks.
struct FieldReport {
  std::string tensor, column, dtype;
  Dims shape;
  std::int64_t values = 0, nans = 0, infs = 0;
  std::string low, high;  // of the values that are not NaN; empty: there are none
  // Counts of the finite values between edges[i] and edges[i + 1]; of a sample where there are more than 16,384.
  std::vector<double> edges;
  std::vector<std::int64_t> counts;
  std::int64_t sampled = 0;
};

class Report {
 public:
  std::vector<RuleReport> rules;
  std::vector<FieldReport> fields;

  bool ok() const noexcept;
  std::int64_t failed_rules() const noexcept;
  std::vector<Finding> findings() const;  // one per rule that does not hold
  std::string text() const;
  std::string json() const;
  void html(const std::string& path) const;
  // Throws ValidationError if a rule does not hold; its words are those of the report.
  void raise(std::source_location where = std::source_location::current()) const;
};

class ValidationError : public Error {
 public:
  ValidationError(Finding f, std::shared_ptr<const Report> report)
      : Error(std::move(f)), report_(std::move(report)) {}
  const Report& report() const noexcept { return *report_; }

 private:
  std::shared_ptr<const Report> report_;
};

struct ValidateOptions {
  int offenders = 5;                      // how many of the first and of the worst are kept, per rule
  bool raise = false;                     // ValidationError instead of a report with findings
  bool progress = false;                  // a bar on stderr for work that takes long
  std::int64_t block = 0;                 // rows read at once; 0: by their size. Reports do not depend on it.
  std::vector<std::string> columns = {};  // of tables in files: only these are read, others may hold text; none: all
  std::uint64_t max_unfolded = 0;         // of files: as LoadOptions has it
};
// Never throws for what is wrong with the data, unless asked to.
Report validate(const Tensor& data, const Schema& schema, const ValidateOptions& options = {},
                std::source_location where = std::source_location::current());
Report validate(const NamedTensors& data, const Schema& schema, const ValidateOptions& options = {},
                std::source_location where = std::source_location::current());
// Files are read in blocks, with bounded memory. A schema of named tensors finds them by the names of arrays inside
// files, by file names without ending, or as said: "x=train.npy". A schema of one unnamed tensor is held against
// each. A sparse .mtx file is judged as its dense matrix (at most max_unfolded; the report says so), unless the
// schema names one of its arrays: indptr, indices, data, shape.
Report validate_files(const std::vector<std::string>& files, const Schema& schema,
                      const ValidateOptions& options = {},
                      std::source_location where = std::source_location::current());

struct InferOptions {
  double slack = 0.1;  // how much of the width of the data ranges are wider on either side
  bool drift = false;  // keep quantiles as a reference, with thresholds for psi and ks
  bool progress = false;
  std::vector<std::string> columns = {};  // of tables in files: only these; none: all
  std::uint64_t max_unfolded = 0;         // of files: as LoadOptions has it
};
// A schema that the data fulfils, with comments in toml() that say what was seen.
Schema infer_schema(const Tensor& data, const InferOptions& options = {});
Schema infer_schema(const NamedTensors& data, const InferOptions& options = {});
Schema infer_schema_files(const std::vector<std::string>& files, const InferOptions& options = {});

}  // namespace gnu::visibility("default")]]wp
