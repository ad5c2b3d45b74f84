# What the outside sees: headers, installation, the command, files shared with NumPy.

# Every public header compiles alone.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp)
set(header_sources "")
foreach(header ${headers})
  string(REPLACE "/" "_" name ${header})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "#include \"@header@\"\n#include \"@header@\"  // twice is as good as once\n")
  list(APPEND header_sources ${source})
endforeach()
add_library(wp_headers OBJECT ${header_sources})
target_include_directories(wp_headers PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(wp_headers PRIVATE ${WP_WARNINGS})

add_test(NAME format COMMAND ${WP_TEST_PYTHON} ${PROJECT_SOURCE_DIR}/tools/check_format.py ${PROJECT_SOURCE_DIR})

add_executable(wp_io_worker workers/io_worker.cpp)
target_link_libraries(wp_io_worker PRIVATE wellposed_inside)
file(GLOB python_tests CONFIGURE_DEPENDS python/test_*.py)
foreach(path ${python_tests})
  cmake_path(GET path STEM name)
  string(REPLACE "test_" "python_" name ${name})
  add_test(NAME ${name} COMMAND ${WP_TEST_PYTHON} -m pytest -q -p no:cacheprovider ${path})
  set_property(TEST ${name} PROPERTY ENVIRONMENT "WP_CLI=$<TARGET_FILE:wellposed_cli>;WP_WORKER=$<TARGET_FILE:wp_io_worker>;WP_RECORD_WORKER=$<TARGET_FILE:wp_record_worker>")
endforeach()

if(NOT CMAKE_CXX_FLAGS MATCHES "sanitize")  # programs outside are not built with sanitizers
  add_test(NAME install COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/install/check.py ${PROJECT_BINARY_DIR} ${PROJECT_VERSION})
  add_test(NAME new_room COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tree/new_room.py ${PROJECT_SOURCE_DIR})
  add_test(NAME documents COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/docs/blocks.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
endif()
