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
set(WP_CLI_SOURCES ${cli_sources} ${PROJECT_BINARY_DIR}/tour_source.cpp)
add_executable(wellposed_cli ${WP_CLI_SOURCES})
set_target_properties(wellposed_cli PROPERTIES OUTPUT_NAME wellposed)
target_link_libraries(wellposed_cli PRIVATE wellposed_inside)
