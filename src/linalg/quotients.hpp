// Quotients K/d of derivatives whose numerator vanishes with its denominator, where values repeat or vanish: what the
// rules of decompositions by singular values and eigenvalues share (spectral_rules.cpp has the formulas).
#pragma once
#include <functional>
#include <initializer_list>

#include "linalg/clusters.hpp"
#include "linalg/rule_kit.hpp"

namespace wp::linalg {

// The terms K, ∂K, ∂²K, … of one numerator.
using Terms = std::vector<Tensor>;

class Quotients {
 public:
  // `own`: the size of the cotangents of each member, […, 1, 1]; `size`: with that of their derivatives along w, by
  // which cotangents that vanish are judged; `noise`: what is rounding of them, asked only where it matters.
  Quotients(const Backward& b, const Clusters& c, std::int64_t n, const Tensor& own, const Tensor& size,
            std::function<Tensor()> noise);
  // K/d; `dw`: the denominator made of w. Where d is small: the series, if K vanishes with d.
  Tensor of(const Terms& k, const Tensor& d, const Tensor& dw, const Tensor& except = {});
  // What must vanish because the matrix determines it not at all.
  void must_vanish(const Tensor& k, std::string_view what);
  // What rounding of the numerators leaves of a derivative of this size (find_cancelled), and what their underflow
  // does (WP-GRD-012); to be asked last.
  void find_cancelled(const Tensor& size) const;
  // Where rounding of the numerators is no small part of a derivative of this size, as where A is small beside what a
  // function of its values adds to them: exp(λ_j) − exp(λ_i) of values of 1e-12. The series has no such difference.
  // […, 1, 1]; undefined where there is none, or it is the series' already.
  Tensor lost(const Tensor& size) const;

 private:
  void judge(const Tensor& k, const Tensor& expected, const Tensor& d, Tensor& small);
  // Where not small: is the last term of the series below what rounding makes of the quotient?
  Tensor settled(const Tensor& k, const Tensor& limit, const Tensor& last, const Tensor& d) const;
  // Where `off` exceeds the tolerance, also after noise was measured.
  Tensor beyond(const Tensor& off, const Tensor& where_asked);
  std::string tied_values(const Tensor& tied) const;

  const Backward& b_;
  const Clusters& c_;
  Tensor rounding();

  Tensor allowed_, tolerance_, rounding_, least_rounding_;
  Tensor size_, least_;  // of the cotangents, and of the denominators; […, 1, 1]
  Tensor least_step_;    // the least denominator made of w
  std::int64_t terms_;   // of a numerator
  std::function<Tensor()> noise_;
};

// How far rounding moves the cotangents of vectors, as measured by rounding them otherwise: all that is left of them
// where a loss does not vary. vectors[i] is undefined where output i has none. […, 1, 1]
Tensor measured_noise(const Backward& b, const Tensors& vectors, const Tensors& cotangents, int draws = 3);

// skew(Vᴴ g)_ij/(λⱼ − λᵢ) with zeros on the diagonal: how eigenvectors turn. t: cotangents of V and their
// derivatives; `diagonal`: those of the values, or undefined; `lost`: Quotients::lost.
Tensor turning_cotangent(const Backward& b, const Tensor& values, const Tensor& v, const Terms& t, const Clusters& c,
                         const Tensor& diagonal, Tensor* lost = nullptr);

// g, and where `lost` is true what the series of all values gives (`again`); g where nothing follows that could be
// asked. What is differentiated again may vanish here and not beside it, and that its series has settled tells
// nothing of its derivative then: so only where the cotangents of `vectors` hardly change while all values move by
// their own size. `beside`: the cotangents and their derivatives along that way; `parts`: the size of what the
// cotangents are the sum of, if that is known.
Tensor where_lost(const Backward& b, const Tensor& g, const Tensor& lost, std::initializer_list<std::size_t> vectors,
                  const std::function<std::vector<Tensors>()>& beside, const std::function<Tensor()>& again,
                  const Tensor& parts = {});

// t, cotangents and their derivatives along c.w, as if c.w were of the size of the values.
std::vector<Tensors> per_size(const Clusters& c, std::vector<Tensors> t);

// Those of values that tangents pass: each listener outside differentiates them once more.
Clusters tangent_clusters(const Tensor& s, const Tensor& bounds, bool zero_counts);
// p/d, 0 where d is small: there p must vanish too, and so must its derivatives.
Tensor turning_tangent(const Tensor& p, const Tensor& d, const Tensor& small);

// How many terms of the series are used.
int terms_for(const Backward& b);

// The gradient is a subgradient (WP-GRD-009).
void find_kink(const Backward& b, double measured, double threshold, std::string message);
// The same for a function of singular values that is smooth where `kept` (values_that_are) counts `smooth` of them.
void find_uneven(const Backward& b, const Tensor& kept, std::int64_t smooth, std::string_view why);
// Digits were lost.
Finding loss_of_digits(const char* code, double measured, double threshold, std::string message, const char* advice);
void find_loss(const Backward& b, const char* code, double measured, double threshold, std::string message,
               const char* advice);
// Cotangents of vectors below the normal numbers have lost digits before the rule saw them, and what it divides them
// by, the derivative, of this size, may be far above them (WP-GRD-012). `terms`: that are added to a numerator.
void find_underflow(const Backward& b, const Tensor& cotangents, const Tensor& divisor, const Tensor& size,
                    std::int64_t terms);
// Gaps, relative to the largest value, that leave a derivative six digits; 1/gap enters once more for a second one.
// `a`: the matrix, which is decomposed in its working dtype. To be asked while the way back is recorded.
double near_enough(const Backward& b, const Tensor& a);
// A derivative that is about 1/gap: gaps below `allowed` of the largest value are a finding (WP-GRD-008).
void find_near(const Backward& b, const Tensor& gap, const Tensor& largest, double allowed);
// The same for the largest or the least singular value of a, where it is not tied (`kept` counts one).
void find_close(const Backward& b, const Tensor& a, const Tensor& kept, bool least);
// A cotangent of values alone, with ties levelled: a kink is a finding. `at`: the cotangent for other values.
Tensor levelled(const Backward& b, const Tensor& g, const Clusters& c, std::string_view what,
                const std::function<Tensor(const Tensor& values)>& at);
// What the cotangent g of values alone loses where it differs between values that are nearly equal, whose vectors mix
// (WP-GRD-008). Here and below nothing is looked at where the caller does not want answers checked.
void find_mixed(const Backward& b, const Tensor& g, const Clusters& c);
// What it loses where it moves with the errors of small values, as that of log does (WP-GRD-012). `at`: g for other
// values.
void find_unsure(const Backward& b, const Tensor& g, const Clusters& c, const Tensor& s,
                 const std::function<Tensor(const Tensor&)>& at);
// The cotangent of values that are computed once more, where the way back is differentiated again; as it came where
// nothing follows that could be asked (forward mode).
Tensor cotangent_at(const Backward& b, const Clusters& c, const Tensor& values,
                    const std::function<Tensor(const Tensor&)>& at);
// The values with ties made exact, or, but for those that vanish, split by a few times `split` of the largest value:
// where exact, a choice between them (max) would be no choice.
Tensor level_values(const Clusters& c, const Tensor& like, double split = 0);

// A smooth loss gives the same gradient in every basis of a tie. `at(r, l)` computes it with right and left vectors
// turned.
void verify_bases(const Backward& b, const Clusters& c, const Tensor& s, DType dtype, bool signs,
                  const std::function<Tensor(const Tensor&, const Tensor&)>& at);
// Right and left vectors of one basis of every tie.
struct Bases {
  Tensor r, l;
};
// The same with bases of the caller's: those of every pattern of `flips` are compared with the first.
void compare_bases(const Backward& b, const Clusters& c, double eps, int first_flips, int last_flips,
                   const std::function<Bases(int flips, std::uint64_t seed)>& bases,
                   const std::function<Tensor(const Tensor&, const Tensor&)>& at);

}  // namespace wp::linalg
