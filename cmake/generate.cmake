# `cmake --build … --target generate` writes what is derived from the op table (headers, their definitions, docs).
# The files are committed; a test fails when they are not what this would write.
add_executable(wp_print_ops tools/print_ops.cpp)
target_link_libraries(wp_print_ops PRIVATE wellposed_commands)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_custom_target(generate
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/generate.py --ops $<TARGET_FILE:wp_print_ops> --tree ${PROJECT_SOURCE_DIR}
    DEPENDS wp_print_ops VERBATIM)
endif()
