// A table of people with four mistakes: a schema from last month's data finds the rows.
#include <fstream>
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  {
    std::ofstream good("june.csv"), bad("july.csv");
    good << "id,age,low,high\n";
    for (int i = 0; i < 200; ++i)
      good << i << ',' << 20 + i % 60 << ',' << 0.1 * (i % 7) << ',' << 1 + 0.1 * (i % 5) << '\n';
    bad << "id,age,low,high\n200,41,0.1,1.2\n201,,0.2,1.1\n202,-3,0.3,1\n202,50,1.4,1.1\n";
  }
  wp::Schema schema = wp::infer_schema_files({"june.csv"});
  schema.tensor().holds({"low <= high"});
  schema.tensor().column("id").remove("range");
  std::cout << schema.toml() << "\n" << wp::validate_files({"july.csv"}, schema).text();
}
