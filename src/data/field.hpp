// A field under its rules: a tensor, or one of its columns.
#pragma once
#include <optional>

#include "data/rule.hpp"
#include "data/sample.hpp"

namespace wp::data {

class Field {
 public:
  Field(Subject subject, const SchemaField* rules);

  Subject& subject() noexcept { return subject_; }
  const Subject& subject() const noexcept { return subject_; }
  bool needs(Needs what) const noexcept { return needs_ & what; }
  void keep_quantiles() { needs_ |= quantile | moments; }

  // What a tile says, to be joined in the order of the tiles. look() runs for several tiles at the same time.
  struct Look {
    Tile tile;
    std::vector<std::unique_ptr<Check::Partial>> partials;
    Sample::Taken sample;
    kernels::ScaledMoments moments = {kernels::Moments::none(), 0};
    std::vector<double> finite;
    std::vector<char> bytes;  // for whole matrices
  };
  Look look(Tile tile) const;
  void join(Look look);
  void finish(Report& out);

  Census census() const noexcept { return census_; }
  const kernels::ScaledMoments& deviation() const noexcept { return moments_; }
  Quantiles& quantiles() noexcept { return quantiles_; }

 private:
  struct Active {
    const Rule* rule;
    SchemaValue value;
    std::unique_ptr<Check> check;
    std::string refused;  // why it cannot judge this dtype
  };
  void add(const Rule& rule, const SchemaValue& value);
  void collect(const Look& look);
  void judge_matrices(bool end);

  Subject subject_;
  std::uint8_t needs_ = 0;
  std::vector<Active> active_;
  Census census_;
  Sample sample_;
  kernels::ScaledMoments moments_ = {kernels::Moments::none(), 0};
  Quantiles quantiles_;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  std::vector<char> matrices_;
  DType matrix_dtype_ = f64;
  bool too_large_ = false;
  std::int64_t judged_ = 0;
};

}  // namespace wp::data
