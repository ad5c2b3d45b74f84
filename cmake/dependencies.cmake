# Debian packages only; nothing is downloaded.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_library(WP_SLEEF sleef REQUIRED)
if(WP_BLAS)
  set(WP_BLAS_LIBRARY ${WP_BLAS})
else()
  find_library(WP_OPENBLAS NAMES libopenblas.a PATH_SUFFIXES openblas-pthread REQUIRED)
  find_library(WP_GFORTRAN NAMES libgfortran.so.5 gfortran REQUIRED)  # the run-time library; no compiler needed
  set(WP_BLAS_LIBRARY ${WP_OPENBLAS} ${WP_GFORTRAN} m)
  add_compile_definitions(WP_STATIC_OPENBLAS)
endif()
set(WP_LIBRARIES fmt::fmt-header-only ZLIB::ZLIB ${WP_SLEEF} ${WP_BLAS_LIBRARY} quadmath Threads::Threads)  # quadmath comes with g++
