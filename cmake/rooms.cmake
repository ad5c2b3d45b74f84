# The op table, over every rooms folder. A room holds one op or one family; every `const Op op_NAME` in it is an entry.
file(GLOB_RECURSE WP_ROOMS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/rooms/*.cpp)
set(entries "")
foreach(room ${WP_ROOMS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${room})
  file(STRINGS ${room} lines REGEX "^const Op op_[a-z0-9_]+ *=")
  foreach(line ${lines})
    string(REGEX MATCH "op_[a-z0-9_]+" entry "${line}")
    list(APPEND entries ${entry})
  endforeach()
endforeach()
list(SORT entries)
set(declarations "")
set(pointers "")
foreach(entry ${entries})
  string(APPEND declarations "extern const Op ${entry};\n")
  string(APPEND pointers "    &${entry},\n")
endforeach()
set(WP_OP_TABLE ${PROJECT_BINARY_DIR}/op_table.cpp)
file(CONFIGURE OUTPUT ${WP_OP_TABLE} @ONLY CONTENT "// Generated from the rooms.
#include \"ops/op.hpp\"

namespace wp {
@declarations@
std::span<const Op* const> op_table() {
  static const Op* const table[] = {
@pointers@  };
  return table;
}
}  // namespace wp
")
