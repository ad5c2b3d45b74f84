# `cmake --build … --target generate` writes what is derived from the op table (headers, their definitions, docs).
# The files are committed; a test fails when they are not what this would write.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_custom_target(generate
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/generate.py --cli $<TARGET_FILE:wellposed_cli> --tree ${PROJECT_SOURCE_DIR}
    DEPENDS wellposed_cli VERBATIM)
endif()
