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
if(WP_NOT_HERE)
  list(FILTER python_tests EXCLUDE REGEX "test_cli_postmortem")
endif()
if(NOT WP_MPI_FOUND)
  list(FILTER python_tests EXCLUDE REGEX "test_mpi")
endif()
foreach(path ${python_tests})
  cmake_path(GET path STEM name)
  string(REPLACE "test_" "python_" name ${name})
  add_test(NAME ${name} COMMAND ${WP_TEST_PYTHON} -m pytest -q -p no:cacheprovider ${path})
  set_property(TEST ${name} PROPERTY ENVIRONMENT "WP_CLI=$<TARGET_FILE:wellposed_cli>;WP_WORKER=$<TARGET_FILE:wp_io_worker>;WP_RECORD_WORKER=$<TARGET_FILE:wp_record_worker>")
endforeach()

if(WP_MPI_FOUND)
  list(JOIN WP_MPIRUN " " mpirun)
  set_property(TEST python_mpi APPEND PROPERTY ENVIRONMENT
    "WP_MPI_CLI=$<TARGET_FILE:wellposed_mpi_cli>;WP_MPI_WORKER=$<TARGET_FILE:wp_dist_worker>;WP_MPIRUN=${mpirun}")
  set_property(TEST python_mpi PROPERTY PROCESSORS 2)
endif()

if(WP_PYTHON)  # the package, as it stands in the build folder
  file(GLOB package_tests CONFIGURE_DEPENDS python/package/test_*.py python/array_api/test_*.py)
  foreach(path ${package_tests})
    cmake_path(GET path STEM name)
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    string(REPLACE "test_" "${folder}_" name ${name})
    add_test(NAME ${name} COMMAND ${WP_TEST_PYTHON} -m pytest -q -p no:cacheprovider ${path})
    set_property(TEST ${name} PROPERTY ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
  endforeach()
  add_test(NAME python_examples COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/docs/blocks.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} python)
  add_test(NAME python_types COMMAND ${WP_TEST_PYTHON} -m mypy --strict --cache-dir ${PROJECT_BINARY_DIR}/mypy examples/python
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_property(TEST python_types PROPERTY ENVIRONMENT "MYPYPATH=${PROJECT_SOURCE_DIR}/python")
  add_test(NAME python_wheel COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/python/wheel/check.py ${PROJECT_SOURCE_DIR})
  set_property(TEST python_wheel PROPERTY TIMEOUT 3000)
  add_test(NAME adapters_core COMMAND ${WP_TEST_PYTHON} -m pytest -q -p no:cacheprovider
    ${CMAKE_CURRENT_SOURCE_DIR}/python/adapters/test_core.py ${CMAKE_CURRENT_SOURCE_DIR}/python/adapters/test_core_errors.py)
  set_property(TEST adapters_core PROPERTY ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
  if(EXISTS ${PROJECT_SOURCE_DIR}/.bench-venv/bin/python)  # PyTorch, JAX and TensorFlow are there
    set(frameworks_python ${PROJECT_SOURCE_DIR}/.bench-venv/bin/python)
    add_test(NAME python_frameworks COMMAND ${frameworks_python} ${CMAKE_CURRENT_SOURCE_DIR}/python/frameworks/check.py)
    add_test(NAME adapters_examples COMMAND ${frameworks_python} ${CMAKE_CURRENT_SOURCE_DIR}/docs/blocks.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} frameworks)
    set(frameworks_tests python_frameworks adapters_examples)
    foreach(framework torch tensorflow jax)
      file(GLOB adapter_tests CONFIGURE_DEPENDS python/adapters/test_${framework}_*.py)
      add_test(NAME adapters_${framework} COMMAND ${frameworks_python} -m pytest -q -p no:cacheprovider ${adapter_tests})
      list(APPEND frameworks_tests adapters_${framework})
    endforeach()
    set(adapter_tests every_function reports)  # of all three
    list(TRANSFORM adapter_tests REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/python/adapters/test_\\1.py")
    add_test(NAME adapters_together COMMAND ${frameworks_python} -m pytest -q -p no:cacheprovider ${adapter_tests})
    list(APPEND frameworks_tests adapters_together)
    # Some virtual machines announce AMX and do not grant it: bf16 in PyTorch and TensorFlow then ends in SIGILL.
    set_property(TEST ${frameworks_tests} PROPERTY ENVIRONMENT
      "PYTHONPATH=${PROJECT_BINARY_DIR}/python;TF_CPP_MIN_LOG_LEVEL=3;JAX_PLATFORMS=cpu;ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16")
    set_property(TEST ${frameworks_tests} PROPERTY TIMEOUT 1800)
  endif()
endif()

if(NOT CMAKE_CXX_FLAGS MATCHES "sanitize")  # programs outside are not built with sanitizers
  add_test(NAME install COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/install/check.py ${PROJECT_BINARY_DIR} ${PROJECT_VERSION})
  add_test(NAME new_room COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tree/new_room.py ${PROJECT_SOURCE_DIR})
  add_test(NAME documents COMMAND ${WP_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/docs/blocks.py ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
endif()

# What takes minutes goes first, so that no core waits for it at the end.
foreach(name python_wheel new_room python_mpi documents)
  if(TEST ${name})
    set_property(TEST ${name} PROPERTY COST 1000)
  endif()
endforeach()
