// The tour's stage: prints the lines of code that have just run, and what they gave.
#pragma once
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "cli/paint.hpp"
#include "wellposed/tensor.hpp"

namespace wp::cli {

class Show {
 public:
  Show();
  // Prose. The listing goes on after it.
  void words(std::string_view text, std::source_location here = std::source_location::current());
  // Lists the code since the last call up to the line of this one, then the value.
  void operator()(const Tensor& value, std::source_location here = std::source_location::current());
  void operator()(std::string_view value, std::source_location here = std::source_location::current());

  void title(std::string_view text);

 private:
  void list(std::uint32_t line);
  Paint paint_;
  std::uint32_t last_ = 0;  // code up to this line has been listed
};

struct Chapter {
  std::string_view title;
  void (*run)(Show&);
};
std::span<const Chapter> chapters();

// The text of tour_chapters.cpp, put into the program by the build.
std::string_view chapters_source();

}  // namespace wp::cli
