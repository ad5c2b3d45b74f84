// The data of the question: what NumPy's checks call "values must be within the range [0, 1]", with the element, the
// count and the row.
#include <iostream>

#include "wellposed/wellposed.hpp"

wp::Tensor validate_data(const wp::Tensor& data) {
  wp::Schema schema;
  schema.tensor().dtype("f64").rank(2).finite().range(0, 1);
  wp::validate(data, schema).raise();
  return data;
}

int main() {
  try {
    validate_data(wp::Tensor{{0.2, 0.8}, {0.5, 0.5}, {-0.1, 0.9}});
  } catch (const wp::ValidationError& error) {
    std::cout << error.what() << "\n\n" << error.report().text();
  }
  std::cout << "\n" << validate_data(wp::Tensor{{0.2, 0.8}, {0.5, 0.5}}) << "\n";
}
