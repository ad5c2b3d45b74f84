# The distributed part: one program that mpirun starts with 1, 2 and 4 ranks (3: all of it with WELLPOSED_LONG_TESTS,
# else a part). More ranks than processors, and root, are fine here.
if(WP_MPI_FOUND)
  file(GLOB dist_tests CONFIGURE_DEPENDS dist/*.cpp)
  add_executable(wp_dist_tests ${dist_tests})
  target_include_directories(wp_dist_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(wp_dist_tests PRIVATE wellposed_mpi_inside GTest::gtest)
  target_compile_definitions(wp_dist_tests PRIVATE WP_SOURCE_TREE="${PROJECT_SOURCE_DIR}")
  set(WP_MPIRUN ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  # Ranks that go wrong.
  add_executable(wp_dist_worker workers/dist_worker.cpp)
  target_link_libraries(wp_dist_worker PRIVATE wellposed_mpi_inside)
  foreach(ranks 1 2 3 4)
    add_test(NAME dist_${ranks}_ranks COMMAND ${WP_MPIRUN} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:wp_dist_tests>)
    set_property(TEST dist_${ranks}_ranks PROPERTY LABELS dist)
    set_property(TEST dist_${ranks}_ranks PROPERTY TIMEOUT 1200)
    set_property(TEST dist_${ranks}_ranks PROPERTY PROCESSORS 2)
  endforeach()
endif()
