#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/dispatch.hpp"
#include "ops/record.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Dims;
using wp::ellipsis;
using wp::newaxis;
using wp::none;
using wp::slice;
using wp::Tensor;

using Ints = std::vector<std::int64_t>;
Ints values(const Tensor& t) {
  return t.to_vector<std::int64_t>();
}
const void* memory(const Tensor& t) {
  return t.node()->data;
}
Tensor numbers(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return wp::reshape(wp::arange(n), shape);
}

// Python's rule, step by step.
Ints python_range(std::int64_t n, const wp::Slice& s) {
  const auto clip = [&](std::int64_t b) {
    if (b < 0) b += n;
    return s.step > 0 ? std::min(std::max<std::int64_t>(b, 0), n) : std::min(std::max<std::int64_t>(b, -1), n - 1);
  };
  const std::int64_t start = s.start ? clip(*s.start) : s.step > 0 ? 0 : n - 1;
  const std::int64_t stop = s.stop ? clip(*s.stop) : s.step > 0 ? n : -1;
  Ints out;
  for (std::int64_t i = start; s.step > 0 ? i < stop : i > stop; i += s.step) out.push_back(i);
  return out;
}

struct RandomSlices {
  std::mt19937 random{11};
  wp::Slice next(std::int64_t n) {
    const auto bound = [&]() -> std::optional<std::int64_t> {
      if (random() % 4 == 0) return std::nullopt;
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(3 * n + 3)) - (3 * n + 3) / 2;
    };
    std::int64_t step = static_cast<std::int64_t>(random() % 9) - 4;
    if (step == 0) step = 5;
    return {bound(), bound(), step};
  }
};

// auto keeps what the brackets give: of a temporary it must be the value, never a reference into what is gone.
TEST(Indexing, AnElementOfATemporaryIsAValue) {
  const auto made = [] { return wp::add(Tensor{1.0, 2.0, 3.0}, 1.0); };
  auto second = made()[{1}];
  static_assert(std::is_same_v<decltype(second), Tensor>);
  EXPECT_EQ(second.item<double>(), 3);
}

TEST(Slices, ReadWhatPythonReadsAndShareMemory) {
  RandomSlices r;
  const Tensor x = numbers({7, 6, 5});
  for (int round = 0; round < 500; ++round) {
    const wp::Slice a = r.next(7), b = r.next(6), c = r.next(5);
    const Tensor y = x[{a, b, c}];
    Ints want;
    for (const std::int64_t i : python_range(7, a))
      for (const std::int64_t j : python_range(6, b))
        for (const std::int64_t k : python_range(5, c)) want.push_back((i * 6 + j) * 5 + k);
    ASSERT_EQ(values(y), want);
    ASSERT_EQ(y.node()->owner, x.node()->owner ? x.node()->owner : x.node());
  }
}

TEST(Slices, WriteWhatPythonWrites) {
  RandomSlices r;
  for (int round = 0; round < 300; ++round) {
    Tensor x = numbers({7, 6});
    const wp::Slice a = r.next(7), b = r.next(6);
    Ints want = values(x);
    std::int64_t next = 1000;
    for (const std::int64_t i : python_range(7, a))
      for (const std::int64_t j : python_range(6, b)) want[static_cast<std::size_t>(i * 6 + j)] = next++;
    const Dims shape{static_cast<std::int64_t>(python_range(7, a).size()),
                     static_cast<std::int64_t>(python_range(6, b).size())};
    const Tensor v = numbers(shape) + 1000;
    ASSERT_EQ(values(x.at({a, b}).set(v)), want);
    x[{a, b}] = v;
    ASSERT_EQ(values(x), want);
  }
}

TEST(Brackets, TakeIntegersSlicesNewAxesAndEllipses) {
  Tensor x = numbers({2, 3, 4});
  EXPECT_EQ(x[1].shape(), (Dims{3, 4}));
  EXPECT_EQ((x[{-1, 0, 2}]).item<int>(), 14);
  EXPECT_EQ((x[{ellipsis, 0}]).shape(), (Dims{2, 3}));
  EXPECT_EQ((x[{0, newaxis, ellipsis, newaxis}]).shape(), (Dims{1, 3, 4, 1}));
  EXPECT_EQ((x[{slice(), slice(none, none, -1)}][{0, 0, 0}]).item<int>(), 8);
  EXPECT_EQ(double(x[{0, 0, 1}] + 0.5), 1.5);
  EXPECT_EQ(x[0][1].shape(), (Dims{4}));
  const Tensor same = x[{}];
  EXPECT_EQ(memory(same), memory(x));
  const Tensor row = x[x[{0, 0, slice(0, 2)}]];  // a part as an index tensor
  EXPECT_EQ(row.shape(), (Dims{2, 3, 4}));
}

TEST(Brackets, PlaceTheAxesOfIndexTensorsAsNumPyDoes) {
  const Tensor x = numbers({2, 3, 4, 5}), i{0, 1}, j{{0}, {1}, {1}};
  EXPECT_EQ((x[{i}]).shape(), (Dims{2, 3, 4, 5}));
  EXPECT_EQ((x[{slice(), i}]).shape(), (Dims{2, 2, 4, 5}));
  EXPECT_EQ((x[{slice(), i, j}]).shape(), (Dims{2, 3, 2, 5}));
  EXPECT_EQ((x[{i, slice(), j}]).shape(), (Dims{3, 2, 3, 5}));
  EXPECT_EQ((x[{0, slice(), j}]).shape(), (Dims{3, 1, 3, 5}));
  EXPECT_EQ((x[{slice(), 0, j}]).shape(), (Dims{2, 3, 1, 5}));
  EXPECT_EQ((x[{slice(), i, ellipsis, i}]).shape(), (Dims{2, 2, 4}));
  EXPECT_EQ((x[{slice(), i, newaxis, i}]).shape(), (Dims{2, 2, 1, 5}));
  EXPECT_EQ((x[{i, ellipsis, newaxis}]).shape(), (Dims{2, 3, 4, 5, 1}));
  EXPECT_EQ((x[{Tensor(true)}]).shape(), (Dims{1, 2, 3, 4, 5}));
  EXPECT_EQ((x[{slice(), i, j}][{1, 2, 0, 3}]).item<int>(), ((1 * 3 + 0) * 4 + 1) * 5 + 3);
}

TEST(Masks, ChooseElementsInOrder) {
  Tensor x = numbers({3, 4});
  const Tensor mask = wp::take_along_axis(Tensor{{true, false, true, true}}, Tensor{{0, 1, 2, 3}});
  EXPECT_EQ(values(x[{slice(), wp::reshape(mask, {4})}]), (Ints{0, 2, 3, 4, 6, 7, 8, 10, 11}));
  const Tensor some{{true, false, false, false}, {false, false, true, false}, {false, true, false, false}};
  EXPECT_EQ(values(x[some]), (Ints{0, 6, 9}));
  x[some] = Tensor{-1, -2, -3};
  EXPECT_EQ(values(x), (Ints{-1, 1, 2, 3, 4, 5, -2, 7, 8, -3, 10, 11}));
  EXPECT_THROW((void)values(x[Tensor{true, false}]), wp::IndexError);
  EXPECT_THROW((void)values(x[Tensor{0.5}]), wp::DtypeError);
}

TEST(Brackets, RefuseWhatIsOutOfRangeAndSayWhere) {
  const Tensor x = numbers({3, 4});
  const auto text = [&](const wp::Index& i) -> std::string {
    try {
      (void)x[i];
    } catch (const wp::IndexError& e) {
      return e.what();
    }
    return "nothing was refused";
  };
  const auto has = [](const std::string& s, const char* part) { return s.find(part) != std::string::npos; };
  EXPECT_TRUE(has(text({3}), "index 3 is out of range for axis 0")) << text({3});
  EXPECT_TRUE(has(text({0, -5}), "from -4 to 3")) << text({0, -5});
  EXPECT_TRUE(has(text({Tensor{{0, 1}, {1, 7}}}), "[1, 1] = 7")) << text({Tensor{{0, 1}, {1, 7}}});
  EXPECT_TRUE(has(text({0, 0, 0}), "names 3 axes")) << text({0, 0, 0});
  EXPECT_TRUE(has(text({ellipsis, ellipsis}), "at most one ellipsis"));
  EXPECT_TRUE(has(text({Tensor{0, 1}, Tensor{0, 9}}), "index tensor 1[1] = 9")) << text({Tensor{0, 1}, Tensor{0, 9}});
  EXPECT_TRUE(has(text({wp::full({1}, ~std::uint64_t{0})}), "18446744073709551615"));
  EXPECT_THROW((void)(x[{Tensor{0, 1}, Tensor{0, 1, 2}}]), wp::ShapeError);
  EXPECT_THROW((void)(x[{slice(0, 3, 0)}]), wp::ArgumentError);
  EXPECT_TRUE(has(text({3}), "indexing_test.cpp")) << text({3});
}

// ---- writing ------------------------------------------------------------------------------------------------------

TEST(Assignment, GivesOnlyTheVariableANewValue) {
  Tensor x = numbers({3, 4});
  const Tensor copy = x, view = x[{1}], turned = wp::matrix_transpose(x);
  x[{1, 2}] = -5;
  EXPECT_EQ((x[{1, 2}]).item<int>(), -5);
  EXPECT_EQ((copy[{1, 2}]).item<int>(), 6);
  EXPECT_EQ(view[2].item<int>(), 6);
  EXPECT_EQ((turned[{2, 1}]).item<int>(), 6);
}

TEST(Assignment, ToAViewLeavesWhatItShowed) {
  Tensor x = numbers({3, 4});
  Tensor row = x[1];
  row[0] = 100;
  EXPECT_EQ(values(row), (Ints{100, 5, 6, 7}));
  EXPECT_EQ((x[{1, 0}]).item<int>(), 4);
}

TEST(Assignment, ReusesMemoryThatNobodyElseSees) {
  Tensor x = wp::zeros({1000});
  const void* const before = memory(x);
  x[3] = 1.5;
  x[slice(10, 20)] = wp::ones({10});
  x[{Tensor{1, 2}}] = 7;
  EXPECT_EQ(memory(x), before);
  x = std::move(x).at(5).set(2.5);
  x = std::move(x).at(5).add(1.0);
  EXPECT_EQ(memory(x), before);
  EXPECT_EQ(x[5].item<double>(), 3.5);
  const Tensor other = x;
  x[3] = 2.0;
  EXPECT_NE(memory(x), before);
  EXPECT_EQ(other[3].item<double>(), 1.5);
  const Tensor y = other.at(3).set(9.0);
  EXPECT_EQ(other[3].item<double>(), 1.5);
  EXPECT_EQ(y[3].item<double>(), 9.0);
}

TEST(Assignment, NeverWritesBorrowedMemory) {
  double lent[] = {1, 2, 3};
  Tensor x = Tensor::borrow(lent, wp::f64, {3});
  x[0] = 10.0;
  x = std::move(x).at(1).add(10.0);
  Tensor y = Tensor::borrow(lent, wp::f64, {3});
  y[{slice(none, none, -1)}] = Tensor{7.0, 8.0, 9.0};
  EXPECT_EQ(lent[0], 1);
  EXPECT_EQ(lent[1], 2);
  EXPECT_EQ(lent[2], 3);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{10, 12, 3}));
}

TEST(Assignment, ReadsItsValueBeforeItWrites) {
  Tensor x = wp::arange(5);
  x[slice()] = x[slice(none, none, -1)];
  EXPECT_EQ(values(x), (Ints{4, 3, 2, 1, 0}));
  Tensor y = wp::arange(4);
  y[y] = wp::flip(y);
  EXPECT_EQ(values(y), (Ints{3, 2, 1, 0}));
  Tensor z = wp::arange(3);
  z[slice()] = z;
  EXPECT_EQ(values(z), (Ints{0, 1, 2}));
}

TEST(Assignment, LeavesTheVariableAloneWhenItIsRefused) {
  Tensor x = wp::arange(4);
  EXPECT_THROW(x[9] = 1, wp::IndexError);
  EXPECT_THROW(x[0] = 0.5, wp::DtypeError);
  EXPECT_THROW((x[slice(0, 3)] = Tensor{1, 2}), wp::ShapeError);
  EXPECT_THROW((x[{Tensor{0, 9}}] = 5), wp::IndexError);
  EXPECT_EQ(values(x), (Ints{0, 1, 2, 3}));
  EXPECT_THROW(x.at(0) = 1, wp::ArgumentError);
  Tensor f{1.0F, 2.0F};
  {
    const wp::checks level("raise");
    EXPECT_THROW(f[0] = 1e300, wp::NonFiniteError);
    EXPECT_THROW(f = std::move(f).at(0).add(3e38F).at(0).add(3e38F), wp::NonFiniteError);
  }
}

TEST(Assignment, CastsToTheTensorsDtypeWithinItsKind) {
  Tensor bytes = wp::zeros({3}, {.dtype = wp::u8});
  bytes[slice()] = Tensor{1, 2, 255};
  EXPECT_EQ(bytes.dtype(), wp::u8);
  EXPECT_THROW(bytes[0] = 256, wp::DomainError);
  EXPECT_THROW(bytes[0] = -1, wp::DomainError);
  EXPECT_EQ(values(bytes), (Ints{1, 2, 255}));
  Tensor f = wp::zeros({2}, {.dtype = wp::f32});
  f[0] = 0.1;
  f[1] = 3;
  EXPECT_EQ(f[0].item<float>(), 0.1F);
  EXPECT_THROW(f[0] = wp::complex128(0, 1), wp::DtypeError);
  Tensor flags{true, false};
  EXPECT_THROW(flags[0] = 1, wp::DtypeError);
  EXPECT_THROW((void)flags.at(0).add(true), wp::DtypeError);
}

TEST(Assignment, AddsRepeatedEntriesInOrderForAnyNumberOfThreads) {
  std::mt19937 random(3);
  const std::int64_t rows = 50, width = 700, n = 4000;
  std::vector<std::int64_t> at;
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) at.push_back(static_cast<std::int64_t>(random() % rows));
  for (std::int64_t i = 0; i < n * width; ++i)
    v.push_back(std::ldexp(static_cast<float>(random() % 1000), static_cast<int>(random() % 30)));
  const Tensor index = Tensor::from(at, {n}), value = Tensor::from(v, {n, width}),
               zero = wp::zeros({rows, width}, {.dtype = wp::f32});
  std::vector<float> want(static_cast<std::size_t>(rows * width), 0.0F);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      want[static_cast<std::size_t>(at[static_cast<std::size_t>(i)] * width + j)] +=
          v[static_cast<std::size_t>(i * width + j)];
  const int before = wp::threads();
  for (const int t : {1, 2, 3}) {
    wp::set_threads(t);
    EXPECT_EQ(zero.at(index).add(value).to_vector<float>(), want);
    Tensor own = wp::zeros({rows, width}, {.dtype = wp::f32});
    EXPECT_EQ(std::move(own).at(index).add(value).to_vector<float>(), want);
    const Tensor line = wp::expand_dims(index, {.axis = 1});
    EXPECT_EQ(wp::scatter(zero, line, value, {.axis = 0, .mode = "add"}).to_vector<float>(), want);
    const Tensor across = wp::scatter(wp::matrix_transpose(zero), wp::expand_dims(index, {.axis = 0}),
                                      wp::matrix_transpose(value), {.mode = "add"});
    EXPECT_EQ(wp::matrix_transpose(across).to_vector<float>(), want);
  }
  wp::set_threads(before);
}

TEST(Assignment, CarriesTheSourceOfAValueAndNotesWhatItMakes) {
  Tensor x = wp::zeros({3});
  x[1] = wp::log(Tensor{0.0})[0];
  EXPECT_THROW((void)x.to_vector<double>(), wp::NonFiniteError);
  x[1] = 5.0;
  EXPECT_EQ(x.to_vector<double>()[1], 5.0);
  Tensor big = wp::full({2}, 1e308);
  big = std::move(big).at({Tensor{1, 1}}).add(1e308);
  try {
    (void)big.to_vector<double>();
    FAIL() << "an overflow left in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_EQ(e.finding().element, (Dims{1}));
    EXPECT_NE(std::string(e.what()).find("index_set"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("x[1] = 1e+308"), std::string::npos) << e.what();
  }
  Tensor given = wp::full({2}, HUGE_VAL);
  given[0] = 1.0;
  EXPECT_TRUE(std::isinf(given.to_vector<double>()[1]));
  EXPECT_THROW((void)wp::scatter(wp::full({1}, 1e308), Tensor{0, 0}, 1e308, {.mode = "add"}).item<double>(),
               wp::NonFiniteError);
}

TEST(Assignment, KeepsTheValueThatAnObserverSaw) {
  wp::Recording seen;
  Tensor x = wp::arange(3);
  {
    const wp::Listen here(seen);
    x[0] = 7;
    x[1] = 8;
  }
  ASSERT_EQ(seen.records.size(), 2U);
  EXPECT_EQ(values(seen.records[0].in[0]), (Ints{0, 1, 2}));
  EXPECT_EQ(values(seen.records[1].in[0]), (Ints{7, 1, 2}));
  EXPECT_EQ(values(x), (Ints{7, 8, 2}));
}

// ---- take, gather, scatter, one_hot
// ---------------------------------------------------------------------------------

TEST(Take, ReadsRowsAndColumnsOfAnyLayoutAsIndexLoopsDo) {
  std::mt19937 random(5);
  const Tensor base = numbers({40, 30, 20});
  for (const Tensor& x : {base, wp::permute_dims(base, {2, 0, 1}), wp::flip(base)})
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
      std::vector<std::int64_t> at;
      for (int i = 0; i < 70; ++i)
        at.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * n)) - n);
      const Tensor y = wp::take(x, Tensor::from(at, {70}), {.axis = axis});
      const auto vx = values(x), vy = values(y);
      std::size_t e = 0;
      for (std::int64_t i = 0; i < y.shape()[0]; ++i)
        for (std::int64_t j = 0; j < y.shape()[1]; ++j)
          for (std::int64_t k = 0; k < y.shape()[2]; ++k, ++e) {
            std::int64_t p[] = {i, j, k};
            p[axis] = (at[static_cast<std::size_t>(p[axis])] + n) % n;
            ASSERT_EQ(vy[e], vx[static_cast<std::size_t>((p[0] * x.shape()[1] + p[1]) * x.shape()[2] + p[2])]);
          }
    }
  EXPECT_THROW((void)wp::take(base, Tensor{0}), wp::ArgumentError);
  EXPECT_THROW((void)wp::take(base, Tensor{40}, {.axis = 0}), wp::IndexError);
  EXPECT_THROW((void)wp::take(wp::zeros({0}), Tensor{0}), wp::IndexError);
}

TEST(Scatter, CombinesByItsMode) {
  const Tensor x{10.0, 20.0, 30.0}, at{0, 0, -1}, v{3.0, 25.0, 2.0};
  const auto got = [&](const char* mode) { return wp::scatter(x, at, v, {.mode = mode}).to_vector<double>(); };
  EXPECT_EQ(got("set"), (std::vector<double>{25, 20, 2}));
  EXPECT_EQ(got("add"), (std::vector<double>{38, 20, 32}));
  EXPECT_EQ(got("multiply"), (std::vector<double>{750, 20, 60}));
  EXPECT_EQ(got("min"), (std::vector<double>{3, 20, 2}));
  EXPECT_EQ(got("max"), (std::vector<double>{25, 20, 30}));
  EXPECT_THROW((void)got("mean"), wp::ArgumentError);
  EXPECT_TRUE(std::isnan(wp::scatter(x, at, std::nan(""), {.mode = "max"}).to_vector<double>()[0]));
  EXPECT_THROW((void)wp::scatter(x, Tensor{3}, 1.0), wp::IndexError);
  EXPECT_THROW((void)wp::scatter(x, Tensor{{0}}, 1.0), wp::ShapeError);
  EXPECT_THROW((void)wp::scatter(wp::arange(3), at, v), wp::DtypeError);
}

TEST(Gather, IsTheCounterpartOfScatter) {
  const Tensor x = numbers({4, 5}), at{{0, 2, 4}, {1, 1, 0}, {3, 3, 3}, {-1, -2, -5}};
  const Tensor y = wp::gather(x, at);
  EXPECT_EQ(values(y), (Ints{0, 2, 4, 6, 6, 5, 13, 13, 13, 19, 18, 15}));
  EXPECT_EQ(values(wp::scatter(x, at, y)), values(x));
  EXPECT_THROW((void)wp::gather(x, Tensor{0}), wp::ShapeError);
  EXPECT_THROW((void)wp::gather(x, Tensor{{5}}), wp::IndexError);
}

TEST(OneHot, RefusesLabelsThatAreNone) {
  EXPECT_EQ(values(wp::one_hot(Tensor{1, 0}, 3, {.dtype = wp::i64})), (Ints{0, 1, 0, 1, 0, 0}));
  EXPECT_THROW((void)wp::one_hot(Tensor{3}, 3), wp::IndexError);
  EXPECT_THROW((void)wp::one_hot(Tensor{-1}, 3), wp::IndexError);
  EXPECT_THROW((void)wp::one_hot(Tensor{0.5}, 3), wp::DtypeError);
  EXPECT_THROW((void)wp::one_hot(Tensor{0}, std::int64_t{1} << 50), wp::OutOfMemory);
}

}  // namespace
