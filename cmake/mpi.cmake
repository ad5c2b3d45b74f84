# The distributed part: library wellposed_mpi and command wellposed-mpi (docs/cluster.md). It is built where MPI and
# ScaLAPACK are found; everything else needs neither.
option(WP_MPI "Build the distributed part, if MPI and ScaLAPACK are found" ON)
set(WP_MPI_FOUND OFF)
if(WP_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  find_library(WP_SCALAPACK NAMES scalapack-openmpi scalapack-mpich scalapack)
  if(MPI_CXX_FOUND AND WP_SCALAPACK)
    set(WP_MPI_FOUND ON)
  endif()
  message(STATUS "Distributed part (MPI, ScaLAPACK): ${WP_MPI_FOUND}")
endif()
if(NOT WP_MPI_FOUND)
  return()
endif()

file(GLOB dist_sources CONFIGURE_DEPENDS src/dist/*.cpp)
add_library(wp_dist OBJECT ${dist_sources})
target_include_directories(wp_dist PRIVATE include src)
target_include_directories(wp_dist SYSTEM PRIVATE ${MPI_CXX_INCLUDE_DIRS})
target_compile_definitions(wp_dist PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_compile_options(wp_dist PRIVATE ${WP_WARNINGS} -fvisibility=hidden -fvisibility-inlines-hidden)
target_link_libraries(wp_dist PRIVATE fmt::fmt-header-only)

# ScaLAPACK comes before OpenBLAS: what it needs of BLAS and LAPACK is then taken from our static OpenBLAS, which knows
# this processor and has no threads of its own, and not from the one that Debian's ScaLAPACK depends on.
set(WP_MPI_LIBRARIES ${WP_SCALAPACK} ${MPI_CXX_LIBRARIES})

# For programs, in the place of libwellposed: all of it, and the distributed part. Its BLAS must be visible to ScaLAPACK.
add_library(wellposed_mpi SHARED $<TARGET_OBJECTS:wp_dist> ${WP_LAYER_OBJECTS})
add_library(wellposed::wellposed_mpi ALIAS wellposed_mpi)
set_target_properties(wellposed_mpi PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(wellposed_mpi PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(wellposed_mpi PUBLIC cxx_std_20)
target_link_libraries(wellposed_mpi PRIVATE ${WP_MPI_LIBRARIES} ${WP_LIBRARIES})
target_link_options(wellposed_mpi PRIVATE -Wl,--no-undefined -Wl,-Bsymbolic-functions ${WP_BLAS_GUARD})

# For the command, tests and benchmarks, which look inside.
add_library(wellposed_mpi_inside STATIC $<TARGET_OBJECTS:wp_dist>)
target_include_directories(wellposed_mpi_inside PUBLIC include src)
target_include_directories(wellposed_mpi_inside SYSTEM PUBLIC ${MPI_CXX_INCLUDE_DIRS})
target_compile_definitions(wellposed_mpi_inside PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(wellposed_mpi_inside PUBLIC ${WP_MPI_LIBRARIES} wellposed_inside)
# Of an archive only what is asked for is linked: these stand before MPI's own.
target_link_options(wellposed_mpi_inside INTERFACE -Wl,-u,MPI_Send)

file(GLOB command_sources CONFIGURE_DEPENDS src/cli/mpi/*.cpp)
add_executable(wellposed_mpi_cli ${command_sources})
set_target_properties(wellposed_mpi_cli PROPERTIES OUTPUT_NAME wellposed-mpi)
target_compile_options(wellposed_mpi_cli PRIVATE -O1)
target_link_libraries(wellposed_mpi_cli PRIVATE wellposed_mpi_inside wellposed_commands)
