# The command `wellposed`. The tour prints its own code: the text of its chapters is compiled in.
file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.cpp)
set(chapters ${PROJECT_SOURCE_DIR}/src/cli/tour_chapters.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${chapters})
file(READ ${chapters} chapters_text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tour_source.cpp @ONLY CONTENT "// Generated from src/cli/tour_chapters.cpp.
#include \"cli/show.hpp\"

std::string_view wp::cli::chapters_source() {
  return R\"source(@chapters_text@)source\";
}
")
list(FILTER cli_sources EXCLUDE REGEX "/main\\.cpp$")
# All but main: the Python package and the tools have these commands too. They read options and write text, which is
# not worth the time to optimise it.
add_library(wellposed_commands STATIC ${cli_sources} ${PROJECT_BINARY_DIR}/tour_source.cpp)
target_compile_options(wellposed_commands PRIVATE -O1 -fvisibility=hidden)
set_source_files_properties(src/cli/measure.cpp PROPERTIES COMPILE_OPTIONS -O3)
target_link_libraries(wellposed_commands PUBLIC wellposed_inside)
add_executable(wellposed_cli src/cli/main.cpp)
set_target_properties(wellposed_cli PROPERTIES OUTPUT_NAME wellposed)
target_link_libraries(wellposed_cli PRIVATE wellposed_commands)
