// gradcheck: derivatives compared with differences of the function itself.
#pragma once
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wellposed/error.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct GradcheckOptions {
  double rtol = 1e-6;  // error allowed relative to the largest entry of the Jacobian
  double atol = 1e-9;
};

// One entry ∂y/∂x of a Jacobian; of order 2 ∂g/∂x, g being the gradient.
struct GradcheckEntry {
  std::string name;  // "∂y[1]/∂x[0, 2]"; of complex numbers which part
  double computed = 0, expected = 0, uncertainty = 0;
  bool reverse = true;  // which mode gave it
  // From the left and from the right, where these differ: no derivative exists, and `computed` does not lie between.
  std::optional<std::pair<double, double>> one_sided = {};
};

struct GradcheckReport {
  std::vector<GradcheckEntry> wrong;  // the worst first, at most 20
  std::int64_t entries = 0;           // compared, in both modes
  std::int64_t wrong_count = 0;
  std::int64_t unjudged = 0;   // of entries, because
  std::int64_t beyond = 0;     // x or y is not finite there;
  std::int64_t steep = 0;      // the derivative is larger than the smallest difference resolves;
  std::int64_t unsettled = 0;  // differences do not settle: at a jump, or at the edge of the domain
  std::int64_t kinks = 0;      // no derivative exists: the one-sided ones differ, or a way back told of a kink
  bool judged_none = false;    // there are no entries, or none that is not zero could be judged
  double worst = 0;            // largest |computed − expected| / (scale + atol / rtol) of entries that are right
  std::vector<Finding> findings = {};  // what the ways back said: kinks, lost digits
  explicit operator bool() const noexcept { return wrong_count == 0 && !judged_none; }
  std::string to_string() const;

 private:
  std::string told() const;
};
std::ostream& operator<<(std::ostream& os, const GradcheckReport& r);

// Compares the reverse and forward derivatives of f at x with extrapolated differences (Ridders 1982), entry by
// entry. order 2: also the derivatives of the gradient of Σ c·f(x) with fixed weights c, unless a way back told of a
// kink (WP-GRD-009): there is no second derivative there. x should be f64 or c128;
// where nothing of it varies, DtypeError.
GradcheckReport gradcheck(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, int order = 1,
                          const GradcheckOptions& options = {});
GradcheckReport gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& x, int order = 1, const GradcheckOptions& options = {});

}  // namespace gnu::visibility("default")]]wp
