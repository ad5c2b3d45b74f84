// The table of file formats. A new one is a row in format.cpp and a file with its two functions.
#pragma once
#include <span>
#include <string_view>

#include "io/blocks.hpp"
#include "io/file.hpp"
#include "wellposed/io.hpp"

namespace wp::io {

struct Format {
  std::string_view ending;  // ".npy", in lower case
  std::string_view magic;   // first bytes of every such file; may be empty
  // Headers are checked whole before memory for elements is asked for.
  Tensor (*read)(const Source&, const LoadOptions&);
  NamedTensors (*read_all)(const Source&, const LoadOptions&);
  std::vector<std::unique_ptr<Blocks>> (*blocks)(std::shared_ptr<const Source>, const BlockOptions&);
  void (*write)(Sink&, const Tensor&, const SaveOptions&);  // refuses what the format does not hold first
};
std::span<const Format> formats();
// By the path's ending; null if no format has it.
const Format* format_of(std::string_view path);
// By the first bytes; null if they are of none.
const Format* format_by_magic(const Source& source);
// By either; throws FormatError.
const Format& format_for(const Source& source);
// ".npy, .csv, .tsv".
std::string endings_text();

}  // namespace wp::io
