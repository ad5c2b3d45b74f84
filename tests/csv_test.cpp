#include "files.hpp"

#include <mpfr.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/blocks.hpp"
#include "io/csv.hpp"

namespace {

using Csv = Files;

TEST_F(Csv, KeepsIntegersAndTurnsTheRestToFloats) {
  const Tensor whole = wp::load(write("t.csv", "1,-2,+3\n9223372036854775807,-9223372036854775808,0\n"));
  EXPECT_EQ(whole.dtype(), wp::i64);
  EXPECT_EQ(whole.shape(), (Dims{2, 3}));
  EXPECT_EQ(whole.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, -2, 3, std::numeric_limits<std::int64_t>::max(),
                                       std::numeric_limits<std::int64_t>::min(), 0}));
  const Tensor mixed = wp::load(write("t.csv", "1,2\n3,4.5"));
  EXPECT_EQ(mixed.dtype(), wp::f64);
  EXPECT_EQ(mixed.to_vector<double>(), (std::vector<double>{1, 2, 3, 4.5}));
  EXPECT_EQ(wp::load(write("t.csv", "9223372036854775808\n")).dtype(), wp::f64);
  EXPECT_TRUE(std::signbit(wp::load(write("t.csv", "-0\n1\n")).to_vector<double>()[0]));  // no i64
  EXPECT_EQ(wp::load(write("t.csv", "0.1,1e-320,-0.0,inf,-Infinity")).to_vector<double>(),
            (std::vector<double>{0.1, 1e-320, -0.0, HUGE_VAL, -HUGE_VAL}));
}

TEST_F(Csv, GivesNanForMissingValues) {
  const Tensor t = wp::load(write("t.csv", "1,,3\nNA,null,nan\n,\"\",N/A\n"));
  EXPECT_EQ(t.shape(), (Dims{3, 3}));
  const std::vector<double> v = t.to_vector<double>();  // given: leaves in silence
  EXPECT_EQ(v[0], 1);
  for (const std::size_t i : {1U, 3U, 4U, 5U, 6U, 7U, 8U}) EXPECT_TRUE(std::isnan(v[i])) << i;
  const Tensor column = wp::load(write("t.csv", "\n1.5\n\n2.5\n\n# end\n\n"));
  EXPECT_EQ(column.shape(), (Dims{3, 1}));
  EXPECT_TRUE(std::isnan(column.to_vector<double>()[1]));
}

TEST_F(Csv, FindsTheDelimiterAndTheHeader) {
  const std::vector<double> want{1.5, 2, -3, 4};
  for (const char* text : {"1.5,2\n-3,4\n", "a,b\n1.5,2\n-3,4\n",
                           "\xef\xbb\xbf"
                           "a;b\r\n1.5;2\r\n-3;4\r\n",
                           "1.5\t2\n-3\t4", "1.5|2\n-3|4\n", "  1.5   2  \n-3 4\n",
                           "# note\nx y,z\n1.5 , 2\n\n-3,4\n", "\"a,b\",\"c\nd\"\n\"1.5\",\"2\"\n-3,\"4\"\n"}) {
    const Tensor t = wp::load(write("t.csv", text));
    EXPECT_EQ(t.shape(), (Dims{2, 2})) << text;
    EXPECT_EQ(t.to_vector<double>(), want) << text;
  }
  EXPECT_EQ(wp::load(write("t.csv", "my value\n1\n2\n")).shape(), (Dims{2, 1}));
  EXPECT_EQ(wp::load(write("t.csv", "a;b;c\n")).shape(), (Dims{0, 3}));
  EXPECT_EQ(wp::load(write("t.csv", "2019,2020\n1,2\n"), {.header = true}).shape(), (Dims{1, 2}));
  EXPECT_EQ(wp::load(write("t.csv", "1:2\n3:4\n"), {.delimiter = ':'}).shape(), (Dims{2, 2}));
}

TEST_F(Csv, NamesLineColumnAndByteOfWhatIsNotANumber) {
  EXPECT_SAYS(message(write("t.csv", "a,b\n1,2\n3,x y\n")),
              "at byte 10: line 3, column 2 (b): 'x y' is not a number.");
  EXPECT_SAYS(message(write("t.csv", "1,2\n3\n")), "at byte 4: line 2 has 1 field, line 1 has 2");
  EXPECT_SAYS(message(write("t.csv", "1;2\n1,5;2\n")), "write a point");
  EXPECT_SAYS(message(write("t.csv", "1st,2nd\n1,2\n")), "with header = true");
  EXPECT_SAYS(message(write("t.csv", "1,1e400\n")), "beyond the largest f64");
  EXPECT_SAYS(message(write("t.csv", "1,\"2\n3"), {.delimiter = ','}), "a quoted field does not end");
  EXPECT_SAYS(message(write("t.csv", "1,\"2\"3\n"), {.delimiter = ','}), "text follows a closing quote");
  EXPECT_SAYS(message(write("t.csv",
                            "\xff\xfe"
                            "1\0")),
              "UTF-16");
  EXPECT_SAYS(message(write("t.csv", "\n# nothing\n")), "no record of numbers");
  EXPECT_SAYS(message(write("t.csv", "")), "no record of numbers");
  EXPECT_SAYS(message(write("t.csv", "a,b\n1,2\n"), {.header = false}), "'a' is not a number");
}

TEST_F(Csv, BlamesTheRecordThatIsWrongAndNotTheDelimiter) {
  EXPECT_SAYS(message(write("t.csv", "a,b\n1,2\n3\n")),
              "at byte 8: line 3 has 1 field, line 1 has 2; the delimiter is ','");
  EXPECT_SAYS(message(write("t.csv", "a;b\n1;2\n3\n4;5\n")), "the delimiter is ';'");
  EXPECT_SAYS(message(write("t.csv", "a,b\n1,2\n3,4,5\n")), "line 3 has 3 fields, line 1 has 2");
  EXPECT_SAYS(message(write("t.csv", "a,b\n\"1\"2,3\n")), "line 2: text follows a closing quote");
  EXPECT_SAYS(message(write("t.csv", "a,b\n1,2\n\"3,4\n")), "line 3: a quoted field does not end");
  EXPECT_SAYS(message(write("t.csv", "x\n1,5\n2,5\n")), "line 2 has 2 fields, line 1 has 1; the delimiter is ','");
  EXPECT_EQ(wp::load(write("t.csv", "\"a b\" c\n\"1\" 2\n")).shape(), (Dims{1, 2}));
  EXPECT_EQ(wp::load(write("t.csv", "mass; dry\n1\n2\n")).shape(), (Dims{2, 1}));
}

TEST_F(Csv, ReadsBackWhatItWroteAsText) {
  const std::vector<double> values{0.1, 1, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789, 1e22, -2.5};
  wp::save(path("t.csv"), Tensor::from(values, {3, 3}), {.names = {"a", "b c", "say \"hi\""}});
  EXPECT_EQ(read(path("t.csv")).substr(0, 26), "a,\"b c\",\"say \"\"hi\"\"\"\n0.1,1");
  const Tensor back = wp::load(path("t.csv"));
  EXPECT_EQ(back.dtype(), wp::f64);
  EXPECT_EQ(back.to_vector<double>(), values);
  EXPECT_TRUE(std::signbit(back.to_vector<double>()[2]));
  wp::save(path("t.tsv"), Tensor{{1, 2}, {3, 4}});
  EXPECT_EQ(read(path("t.tsv")), "1\t2\n3\t4\n");
  wp::save(path("t.csv"), Tensor{1.0F, 0.1F, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(read(path("t.csv")), "1.0\n0.1\nnan\n");
  wp::save(path("t.csv"), wp::permute_dims(Tensor{{1, 2, 3}, {4, 5, 6}}, {1, 0}));
  EXPECT_EQ(read(path("t.csv")), "1,4\n2,5\n3,6\n");
  wp::save(path("t.csv"), Tensor(wp::Scalar(7)));
  EXPECT_EQ(read(path("t.csv")), "7\n");
  EXPECT_THROW(wp::save(path("t.csv"), Tensor::from(std::vector<float>{}, {0, 3})), wp::ShapeError);
  wp::save(path("t.csv"), Tensor::from(std::vector<float>{}, {0, 2}), {.names = {"a", "b"}});
  EXPECT_EQ(wp::load(path("t.csv")).shape(), (Dims{0, 2}));
}

TEST_F(Csv, GivesEachColumnItsOwnDtype) {
  write("t.csv", "id,price,ok,note\n1,2,true,x\n2,,false,\"y,z\"\n9007199254740993,3.5,True,\n");
  EXPECT_SAYS(message(path("t.csv")), "column 3 (ok): 'true' is not a number. load_all reads columns");
  const wp::NamedTensors t = wp::load_all(path("t.csv"), {.names = {"ok", "id", "price"}});
  ASSERT_EQ(t.size(), 3U);
  EXPECT_EQ(t[0].first, "ok");
  EXPECT_EQ(t[0].second.dtype(), wp::boolean);
  EXPECT_EQ(t[0].second.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(t[1].second.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 9007199254740993}));
  EXPECT_EQ(t[2].second.dtype(), wp::f64);
  EXPECT_TRUE(std::isnan(t[2].second.to_vector<double>()[1]));
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.csv"), {.names = {"cost"}}), "Its columns are id, price, ok, note");
  EXPECT_EQ(wp::load(path("t.csv"), {.names = {"price", "id"}}).shape(), (Dims{3, 2}));
  EXPECT_EQ(wp::load_all(write("u.csv", "1,2\n"))[1].first, "column_1");
  EXPECT_EQ(wp::load_all(write("u.csv",
                               "gr\xf6\xdf"
                               "e\n1\n"))[0]
                .first,
            "größe");  // Latin-1
  try {
    (void)wp::load_all(write("u.csv", "true\n1\n"), {.header = false});
    FAIL() << "true and 1 in one column";
  } catch (const wp::FormatError& e) {
    EXPECT_SAYS(std::string(e.what()), "stands among numbers");
  }
}

TEST_F(Csv, RefusesTwoColumnsOfOneNameWhereNamesAreUsed) {
  write("t.csv", "a,b,a\n1,2,3\n");
  const auto why = [&](const wp::LoadOptions& options) -> std::string {
    try {
      (void)wp::load_all(path("t.csv"), options);
    } catch (const wp::FormatError& e) {
      return e.what();
    }
    return "no exception";
  };
  EXPECT_SAYS(why({}), "t.csv' at byte 0: two columns have the name 'a'");
  EXPECT_SAYS(why({.names = {"a"}}), "two columns");
  EXPECT_EQ(wp::load_all(path("t.csv"), {.names = {"b"}}).size(), 1U);
  EXPECT_EQ(wp::load(path("t.csv")).to_vector<int>(), (std::vector<int>{1, 2, 3}));
}

TEST_F(Csv, ReadsColumnsBackThatItWrote) {
  const wp::NamedTensors columns{
      {"a b", Tensor{1, -2}}, {"x", Tensor{0.1, 1e300}}, {"ok", Tensor::from(std::vector<std::uint8_t>{1, 0}, {2})}};
  wp::save_all(path("t.csv"), {columns[0], columns[1], {"ok", wp::astype(columns[2].second, wp::boolean)}});
  EXPECT_EQ(read(path("t.csv")), "\"a b\",x,ok\n1,0.1,true\n-2,1e+300,false\n");
  const wp::NamedTensors back = wp::load_all(path("t.csv"));
  EXPECT_EQ(back[2].second.dtype(), wp::boolean);
  EXPECT_EQ(back[0].first, "a b");
  EXPECT_THROW(wp::save_all(path("u.csv"), {{"a", Tensor{1, 2}}, {"b", Tensor{1}}}), wp::ShapeError);
}

// Several pieces and windows; quoted fields with line ends, comments and blank lines over their borders.
TEST_F(Csv, ReadsTheSameRecordsWhereverTheTextIsCut) {
  std::string text = "a,b,c\n";
  std::vector<double> want;
  std::uint64_t state = 1;
  while (text.size() < 9'000'000) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto v = static_cast<double>(static_cast<std::int64_t>(state) >> 20) / 1024;
    const std::string number = std::to_string(v);
    switch (state >> 60) {
      case 0: text += "# a \"comment\n"; break;
      case 1: text += "\n"; break;
      case 2: text += "\"\n\n" + std::string(1, '\n') + "\"," + number + ",7\r\n"; break;
      case 3: text += "\"" + number + "\" ,, 8 \n"; break;
      default: text += number + "," + number + "," + std::to_string(want.size()) + "\n"; continue;
    }
    want.push_back(0);
  }
  write("t.csv", text);
  const int before = wp::threads();
  wp::set_threads(1);
  const Tensor one = wp::load(path("t.csv"), {.names = {"b", "c"}});
  wp::set_threads(2);
  const Tensor two = wp::load(path("t.csv"), {.names = {"b", "c"}});
  std::vector<Tensor> block;
  auto readers = wp::io::open_blocks(path("t.csv"), {.load = {.names = {"b", "c"}}, .columns = false});
  std::vector<double> streamed;
  while (readers[0]->next(777, block)) {
    const Tensor wide = wp::astype(block[0], wp::f64);
    for (const double v : wide.to_vector<double>()) streamed.push_back(v);
  }
  wp::set_threads(before);
  // The reference: one record after the other from the first byte.
  const wp::io::Source source(path("t.csv"));
  wp::io::Records records(source, text, ',');
  std::vector<wp::io::Field> fields;
  std::vector<double> truth;
  records.next(fields);
  while (records.next(fields)) {
    ASSERT_EQ(fields.size(), 3U);
    for (const std::size_t c : {1U, 2U}) truth.push_back(wp::io::parse_number(fields[c].text).real);
  }
  const auto same = [&](const std::vector<double>& got) {
    return got.size() == truth.size() && std::memcmp(got.data(), truth.data(), truth.size() * sizeof(double)) == 0;
  };
  EXPECT_GT(truth.size(), 100000U);
  EXPECT_TRUE(same(one.to_vector<double>()));
  EXPECT_TRUE(same(two.to_vector<double>()));
  EXPECT_TRUE(same(streamed));
}

// Correctly rounded: the fast paths against MPFR.
TEST_F(Csv, RoundsDecimalsCorrectly) {
  std::vector<std::string> texts{"0.1",
                                 "9007199254740993.0",
                                 "1e23",
                                 "8.5e22",
                                 "123456789012345678e-5",
                                 "1.7976931348623157e308",
                                 "2.2250738585072011e-308",
                                 "4.9e-324",
                                 "2.4703282292062327e-324",
                                 "2.4703282292062328e-324",
                                 "0.3000000000000000166533453693773481063544750213623046875",
                                 "9223372036854775807.5"};
  std::uint64_t state = 7;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::string digits = std::to_string(state).substr(0, 1 + (state >> 33) % 19);
    const std::size_t point = (state >> 40) % digits.size();
    texts.push_back(
        digits.substr(0, point) + "." + digits.substr(point) +
        ((state >> 50) % 3 == 0 ? "e" + std::to_string(static_cast<int>((state >> 20) % 600) - 320) : ""));
  }
  std::string file;
  for (const std::string& t : texts) file += t + "\n";
  const std::vector<double> got = wp::load(write("t.csv", file), {.header = false}).to_vector<double>();
  ASSERT_EQ(got.size(), texts.size());
  mpfr_t exact;
  mpfr_init2(exact, 53);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(-1073);
  mpfr_set_emax(1024);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const int ternary = mpfr_strtofr(exact, texts[i].c_str(), nullptr, 10, MPFR_RNDN);
    mpfr_subnormalize(exact, ternary, MPFR_RNDN);
    EXPECT_EQ(got[i], mpfr_get_d(exact, MPFR_RNDN)) << texts[i];
  }
  mpfr_set_emin(emin);  // for the tests behind this one
  mpfr_set_emax(emax);
  mpfr_clear(exact);
}

TEST_F(Csv, AShortRowUnderAHeaderIsRefusedAndNotReadAsOneColumn) {
  EXPECT_SAYS(message(write("t.csv", "a,b\n3\n")), "1 field");
  EXPECT_EQ(wp::load(write("t.csv", "\"a,b\"\n3\n")).shape(), (Dims{1, 1}));
}

}  // namespace
