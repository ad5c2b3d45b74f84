#include "tensor/columns.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "tensor/note.hpp"

namespace wp {
namespace {

constexpr int kPrecision = 8;  // digits after the point

struct Decimal {  // ± 0.d₁d₂d₃… · 10^point
  bool negative = false;
  std::string digits;
  int point = 0;
};

template <class... Format>
std::string to_text(double v, Format... format) {
  char buffer[512];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format...).ptr};
}

// "d.ddde±xx" taken apart.
Decimal take_apart(bool negative, const std::string& text) {
  Decimal d{negative};
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') d.digits += c;
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  d.point = std::stoi(text.substr(e + 1)) + 1;
  return d;
}

// The fewest digits that read back as v in its dtype.
Decimal shortest(double v, DType dtype) {
  constexpr auto format = std::chars_format::scientific;
  const double a = std::fabs(v);
  if (dtype == f64) return take_apart(std::signbit(v), to_text(a, format));
  if (dtype == f32) {
    char buffer[64];
    return take_apart(std::signbit(v),
                      {buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(a), format).ptr});
  }
  const auto bits = [&](double w) {
    const auto f = static_cast<float>(w);
    return dtype == f16 ? kernels::half_bits(f) : kernels::bfloat16_bits(f);
  };
  for (int digits = 0;; ++digits) {
    const std::string text = to_text(a, format, digits);
    if (digits == 8 || bits(std::stod(text)) == bits(a)) return take_apart(std::signbit(v), text);
  }
}

// At most `places` digits after the point of d.ddd (exponent) or ddd.ddd; rounded from the exact value.
Decimal rounded(double v, DType dtype, bool exponent, int places) {
  Decimal d = shortest(v, dtype);
  const int after = static_cast<int>(d.digits.size()) - (exponent ? 1 : d.point);
  if (after <= places) return d;
  if (exponent) return take_apart(d.negative, to_text(std::fabs(v), std::chars_format::scientific, places));
  const std::string text = to_text(std::fabs(v), std::chars_format::fixed, places);
  const std::size_t dot = text.find('.');
  Decimal out{d.negative, text.substr(0, dot) + text.substr(dot + 1), static_cast<int>(dot)};
  while (out.digits.size() > 1 && static_cast<int>(out.digits.size()) > out.point && out.digits.back() == '0')
    out.digits.pop_back();
  return out;
}

struct Parts {
  std::string whole, fraction, exponent;  // "-1" "25" "e+10"
};
Parts parts(double v, DType dtype, bool exponent) {
  const Decimal d = rounded(v, dtype, exponent, kPrecision);
  Parts p;
  p.whole = d.negative ? "-" : "";
  const int n = static_cast<int>(d.digits.size());
  if (exponent) {
    p.whole += d.digits[0];
    p.fraction = d.digits.substr(1);
    const int power = v == 0 ? 0 : d.point - 1;
    p.exponent = std::to_string(std::abs(power));
    if (p.exponent.size() < 2) p.exponent.insert(0, "0");
    p.exponent.insert(0, power < 0 ? "e-" : "e+");
    return p;
  }
  if (d.point <= 0) {
    p.whole += "0";
    if (v != 0) p.fraction = std::string(static_cast<std::size_t>(-d.point), '0') + d.digits;
  } else if (d.point >= n) {
    p.whole += d.digits + std::string(static_cast<std::size_t>(d.point - n), '0');
  } else {
    p.whole += d.digits.substr(0, static_cast<std::size_t>(d.point));
    p.fraction = d.digits.substr(static_cast<std::size_t>(d.point));
  }
  while (!p.fraction.empty() && p.fraction.back() == '0') p.fraction.pop_back();
  return p;
}

// One column of reals. `plus`: positive numbers show their sign (imaginary parts).
class Reals {
 public:
  Reals(const std::vector<double>& values, DType dtype, bool plus) : dtype_(dtype), plus_(plus) {
    double most = 0, least = 0;
    for (const double v : values)
      if (std::isfinite(v) && v != 0) {
        most = std::max(most, std::fabs(v));
        least = least == 0 ? std::fabs(v) : std::min(least, std::fabs(v));
      }
    const double large = dtype == f64 ? 1e8 : dtype == f32 ? 1e6 : 1e3;
    // 0.0001 as the dtype has it, so that 0.0001 itself is not below it.
    double small = 1e-4;
    if (dtype == f32) small = 1e-4F;
    if (dtype == f16) small = kernels::half_value(kernels::half_bits(1e-4F));
    if (dtype == bf16) small = kernels::bfloat16_value(kernels::bfloat16_bits(1e-4F));
    exponent_ = most >= large || (most > 0 && (least < small || most / least > 1000 * (1 + 1e-7)));
    bool bad = false, negative_inf = plus;
    for (const double v : values) {
      bad |= !std::isfinite(v);
      negative_inf |= std::isinf(v) && v < 0;
      if (!std::isfinite(v)) continue;
      const Parts p = signed_parts(v);
      left_ = std::max(left_, p.whole.size());
      right_ = std::max(right_, p.fraction.size());
      power_ = std::max(power_, p.exponent.size());
    }
    const std::size_t rest = right_ + power_ + 1, longest = bad ? 3U + negative_inf : 0U;
    if (longest > left_ + rest) left_ = longest - rest;
  }
  std::string text(double v) const {
    const std::size_t width = left_ + 1 + right_ + power_;
    if (!std::isfinite(v)) {
      const std::string word = std::isnan(v) ? plus_ ? "+nan" : "nan" : v < 0 ? "-inf" : plus_ ? "+inf" : "inf";
      return std::string(width > word.size() ? width - word.size() : 0, ' ') + word;
    }
    Parts p = signed_parts(v);
    if (exponent_) {  // all with the same number of digits: true ones, not zeros
      const std::string exact = to_text(std::fabs(v), std::chars_format::scientific, static_cast<int>(right_));
      const std::size_t e = exact.find('e');
      p.whole.back() = exact[0];
      p.fraction = right_ ? exact.substr(2, e - 2) : "";
      p.exponent = exact.substr(e);
      if (p.exponent.size() < power_) p.exponent.insert(2, power_ - p.exponent.size(), '0');
    }
    p.fraction.resize(right_, ' ');
    return std::string(left_ - p.whole.size(), ' ') + p.whole + '.' + p.fraction + p.exponent;
  }

 private:
  Parts signed_parts(double v) const {
    Parts p = parts(v, dtype_, exponent_);
    if (plus_ && p.whole[0] != '-') p.whole.insert(0, "+");
    return p;
  }
  DType dtype_;
  bool plus_, exponent_ = false;
  std::size_t left_ = 0, right_ = 0, power_ = 0;
};

}  // namespace

std::vector<std::string> columns(const Tensor& t, const std::vector<std::int64_t>& elements) {
  std::vector<std::string> out;
  if (!is_floating(t.dtype())) {
    std::size_t width = t.dtype() == DType::boolean && t.ndim() ? 5 : 0;
    for (const std::int64_t e : elements) {
      out.push_back(t.dtype() == DType::boolean ? value_at(t, e).real() != 0 ? "True" : "False" : text_at(t, e));
      width = std::max(width, out.back().size());
    }
    for (std::string& word : out) word.insert(0, width - word.size(), ' ');
    return out;
  }
  const DType real = real_of(t.dtype());
  std::vector<double> re, im;
  for (const std::int64_t e : elements) {
    const complex128 v = value_at(t, e);
    re.push_back(v.real());
    im.push_back(v.imag());
  }
  const Reals left(re, real, false);
  if (!is_complex(t.dtype())) {
    for (const double v : re) out.push_back(left.text(v));
    return out;
  }
  const Reals right(im, real, true);
  for (std::size_t k = 0; k < re.size(); ++k) {
    std::string imaginary = right.text(im[k]);
    imaginary.insert(imaginary.find_last_not_of(' ') + 1, "j");
    out.push_back(left.text(re[k]) + imaginary);
  }
  return out;
}

}  // namespace wp
