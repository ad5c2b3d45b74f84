#include "files.hpp"

#include <cmath>
#include <limits>

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

}  // namespace
