#include <gtest/gtest.h>

#include "products.hpp"
#include "wellposed/threads.hpp"

namespace {
using namespace products;
using wp::Dims;
using wp::Tensor;

// By definition, in exact integers: a loop over all indices. No dots.
std::vector<std::int64_t> by_definition(const std::string& text, const std::vector<Tensor>& operands, Dims& shape) {
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) c == ',' ? terms.emplace_back() : terms.back() += c;
  const std::string out = text.substr(arrow + 2);
  std::string names = out;
  std::vector<std::int64_t> length(128, 0);
  for (std::size_t t = 0; t < terms.size(); ++t)
    for (std::size_t k = 0; k < terms[t].size(); ++k) {
      if (names.find(terms[t][k]) == std::string::npos) names += terms[t][k];
      length[static_cast<std::size_t>(terms[t][k])] = operands[t].shape()[k];
    }
  shape.clear();
  for (const char c : out) shape.push_back(length[static_cast<std::size_t>(c)]);
  std::vector<std::int64_t> result(static_cast<std::size_t>(count(shape)), 0), at(128, 0);
  std::vector<std::vector<std::int64_t>> values;
  for (const Tensor& t : operands) values.push_back(t.to_vector<std::int64_t>());
  const auto element = [&](const std::string& term) {
    std::size_t e = 0;
    for (const char c : term)
      e = e * static_cast<std::size_t>(length[static_cast<std::size_t>(c)]) +
          static_cast<std::size_t>(at[static_cast<std::size_t>(c)]);
    return e;
  };
  std::int64_t total = 1;
  for (const char c : names) total *= length[static_cast<std::size_t>(c)];
  for (std::int64_t i = 0; i < total; ++i) {
    std::int64_t rest = i, product = 1;
    for (std::size_t k = names.size(); k-- > 0;) {
      const auto c = static_cast<std::size_t>(names[k]);
      at[c] = rest % length[c];
      rest /= length[c];
    }
    for (std::size_t t = 0; t < terms.size(); ++t) product *= values[t][element(terms[t])];
    result[element(out)] += product;
  }
  return result;
}

Tensor whole_numbers(const Dims& shape, unsigned seed) {
  std::vector<std::int64_t> v;
  for (const double d : random_values<double>(count(shape), seed)) v.push_back(std::lround(3 * d));
  return Tensor::from(v, shape);
}

struct Case {
  const char* text;
  std::vector<Dims> shapes;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"ij,jk->ik", {{7, 5}, {5, 9}}},
      {"ij,jk->ki", {{7, 5}, {5, 9}}},
      {"ji,kj->ik", {{5, 7}, {9, 5}}},
      {"ij,j->i", {{7, 5}, {5}}},
      {"i,ij->j", {{7}, {7, 5}}},
      {"i,i->", {{40}, {40}}},
      {"i,j->ij", {{4}, {6}}},
      {"ij,ij->ij", {{4, 6}, {4, 6}}},
      {"ij,ji->ij", {{4, 6}, {6, 4}}},
      {"ij->ji", {{4, 6}}},
      {"ijk->", {{2, 3, 4}}},
      {"ijk->k", {{2, 3, 4}}},
      {"ijk->ki", {{2, 3, 4}}},
      {"ii->", {{5, 5}}},
      {"ii->i", {{5, 5}}},
      {"iji->j", {{3, 4, 3}}},
      {"bij,bjk->bik", {{3, 4, 5}, {3, 5, 2}}},
      {"bij,bjk->ikb", {{3, 4, 5}, {3, 5, 2}}},
      {"bihd,bjhd->bhij", {{2, 3, 2, 4}, {2, 5, 2, 4}}},
      {"abcd,dcef->aefb", {{2, 3, 2, 4}, {4, 2, 3, 2}}},
      {"ij,jk,kl->il", {{4, 5}, {5, 3}, {3, 6}}},
      {"ij,jk,ki->", {{4, 5}, {5, 3}, {3, 4}}},
      {"ai,bi,ci->abc", {{3, 5}, {2, 5}, {4, 5}}},
      {"i,i,i,i->i", {{5}, {5}, {5}, {5}}},
      {"ij,k->i", {{3, 4}, {5}}},
      {",ij->ji", {{}, {2, 3}}},
      {"a,b,c,d,e,f,g,h,i->ai", {{2}, {2}, {2}, {2}, {2}, {2}, {2}, {2}, {3}}},
      {"ij,jk->ik", {{3, 0}, {0, 2}}},
      {"ij->i", {{3, 0}}},
  };
  return all;
}

TEST(Einsum, IsExactOnIntegersByDefinition) {
  for (const Case& c : cases()) {
    wp::Tensors operands;
    std::vector<Tensor> list;
    for (std::size_t i = 0; i < c.shapes.size(); ++i) {
      list.push_back(whole_numbers(c.shapes[i], static_cast<unsigned>(i)));
      operands.push_back(list.back());
    }
    Dims shape;
    const std::vector<std::int64_t> want = by_definition(c.text, list, shape);
    const Tensor got = wp::einsum(c.text, operands);
    EXPECT_EQ(got.shape(), shape) << c.text;
    EXPECT_EQ(got.to_vector<std::int64_t>(), want) << c.text;
  }
}

TEST(Einsum, TakesOperandsOfAnyLayout) {
  for (const Case& c : cases()) {
    wp::Tensors plain, turned;
    for (std::size_t i = 0; i < c.shapes.size(); ++i) {
      const Tensor t = random<double>(c.shapes[i], static_cast<unsigned>(i));
      plain.push_back(t);
      turned.push_back(t.ndim() < 2 ? t : laid_out(t, layouts[i % 3 + 1]));
    }
    EXPECT_EQ(bits(wp::einsum(c.text, plain)), bits(wp::einsum(c.text, turned))) << c.text;
  }
}

TEST(Einsum, HasTheSameBitsForOneAndTwoThreads) {
  const int before = wp::threads();
  const Tensor a = random<double>({90, 110}, 1), b = random<double>({110, 80}, 2), c = random<double>({80, 130}, 3);
  wp::set_threads(1);
  const std::vector<char> want = bits(wp::einsum("ij,jk,kl->li", {a, b, c}));
  wp::set_threads(2);
  EXPECT_EQ(bits(wp::einsum("ij,jk,kl->li", {a, b, c})), want);
  wp::set_threads(before);
}

TEST(Einsum, MatrixProductHasTheBitsOfMatmul) {
  const Tensor a = random<float>({5, 40, 30}, 1), b = random<float>({5, 30, 50}, 2);
  EXPECT_EQ(bits(wp::einsum("bij,bjk->bik", {a, b})), bits(wp::matmul(a, b)));
  EXPECT_EQ(bits(wp::einsum("...ij,...jk", {a, b})), bits(wp::matmul(a, b)));
}

void expect_refused(const wp::Tensors& operands, const char* text, const std::string& part) {
  try {
    wp::einsum(text, operands);
    FAIL() << text << " was taken";
  } catch (const wp::Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Einsum, NamesTheIndexAndTheLengthsThatDoNotFit) {
  const Tensor a = random<double>({2, 3}, 1), b = random<double>({4, 5}, 2);
  expect_refused({a, b}, "ij,jk->ik", "index 'j' has length 3 in operand 0 [2, 3] and 4 in operand 1 [4, 5]");
  expect_refused({a}, "ii", "index 'i' has length 2 in operand 0 [2, 3] and 3 in operand 0 [2, 3]");
  expect_refused({a, b}, "...i,...j", "index '...' has length 2 in operand 0");
  expect_refused({a}, "i->i", "has 2 axes");
  expect_refused({a}, "ijk...->i", "names at least 3");
}

TEST(Einsum, RefusesBadNotation) {
  const Tensor a = random<double>({2, 3}, 1);
  expect_refused({a, a}, "ij->i", "names 1 operand; got 2");
  expect_refused({a}, "i%->i", "got '%'");
  expect_refused({a}, "ij->ik", "index 'k' of the result is in no operand");
  expect_refused({a}, "ij->ii", "index 'i' is twice in the result");
  expect_refused({a}, "...->", "the result does not name");
  expect_refused({a}, "ij->...i", "no operand does");
  expect_refused({a}, "..ij", "got '.'");
  expect_refused({}, "", "at least one operand");
}

TEST(Einsum, RoundsF16OnceAtTheEnd) {
  Tensor half = Tensor::adopt(wp::detail::make_node(wp::f16, {3000}));
  for (std::int64_t i = 0; i < 3000; ++i) reinterpret_cast<std::uint16_t*>(half.node()->data)[i] = 0x3c00;  // 1
  const Tensor sum = wp::einsum("i,i", {half, half});
  EXPECT_EQ(sum.dtype(), wp::f16);
  EXPECT_EQ(sum.item<double>(), 3000);  // a sum kept in f16 stops at 2048
}

}  // namespace
