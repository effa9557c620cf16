# Flags and the two helper functions every folder uses.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold) # Links in a fraction of the time; only a convenience.
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_library(lanewise_flags INTERFACE)
target_compile_options(lanewise_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${LANEWISE_WERROR}>:-Werror>
  # Interpreter and folder must not contract a*b+c or assume the default rounding mode: bits are the contract.
  -ffp-contract=off -frounding-math
  # False alarm of GCC 12 on `"literal" + std::string` with -O3 (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # What lies in frames and in the guest's memory is accessed as what the guest's code says.
  -fno-strict-aliasing)
target_include_directories(lanewise_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
if(LANEWISE_SANITIZE)
  target_compile_options(lanewise_flags INTERFACE -fsanitize=${LANEWISE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(lanewise_flags INTERFACE -fsanitize=${LANEWISE_SANITIZE})
endif()

if(LANEWISE_FUZZERS) # Coverage of the libraries is what guides the fuzzer.
  target_compile_options(lanewise_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# lanewise_library(NAME SOURCES a.cpp ... LINKS lib ...): a static library of one folder.
function(lanewise_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  add_library(lanewise::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC lanewise_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# lanewise_test(NAME [SHARDS n] SOURCES a.cpp ... LINKS lib ...): a GoogleTest executable, one CTest entry, or n that share
# its tests, so that a long one keeps all cores busy.
function(lanewise_test name)
  cmake_parse_arguments(ARG "" "SHARDS" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE lanewise_flags ${ARG_LINKS} GTest::gtest GTest::gtest_main)
  set(environment "LANEWISE_SOURCE_DIR=${PROJECT_SOURCE_DIR};LANEWISE_NO_CACHE=1")
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}")
    return()
  endif()
  math(EXPR last "${ARG_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}_${shard} COMMAND ${name})
    set_tests_properties(${name}_${shard} PROPERTIES
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
