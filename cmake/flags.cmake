# No contraction: a·b + c rounds twice on every instruction set, unless the source says fma. Floating-point exceptions
# and errno are not used: values are scanned instead.
set(WP_WARNINGS -Wall -Wextra -Wshadow=local -Wconversion -Wno-sign-conversion -Wno-psabi -Wno-restrict
    -Wno-missing-field-initializers -Werror)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")  # with sanitizers, -O2 takes 1.7 times as long to compile
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math $<$<NOT:$<CONFIG:Release>>:-fno-omit-frame-pointer>)
find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the tree: a copy of it in another folder finds its objects in the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
