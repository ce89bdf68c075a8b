# quire_library(NAME [FOLDER f] [DEPS ...] [PUBLIC_LIBS ...] [TEST_LIBS ...] [NO_RECURSE])
#   One static library from the .cc files of a folder (default: the current source folder), and,
#   where there are *_test.cc files, one test program NAME_test whose cases are ctest tests.
#   Each X_fuzz.cc is a program of its own: a fuzzer where QUIRE_FUZZ is on, else a test with its seeds
#   (tests/fuzz/X_fuzz).
add_library(quire_options INTERFACE)
target_include_directories(quire_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(quire_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Werror -ffp-contract=off -fno-omit-frame-pointer)
# Nothing of ours is in a shared library: without this g++ inlines no function that another library
# might replace, which is every one that -fPIC code exports.
target_compile_options(quire_options INTERFACE -fno-semantic-interposition)
# TRY is a statement expression, spelled __extension__; clang still calls it a GNU extension.
target_compile_options(quire_options INTERFACE
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression -Wno-gnu-statement-expression-from-macro-expansion>)
target_compile_definitions(quire_options INTERFACE QUIRE_VERSION="${PROJECT_VERSION}")
# In a release a mistake of memory meets a stack whose end is checked, library calls that know the size of a buffer,
# containers that check an index, and tables of functions that are read-only once the program runs. A folder leaves some of
# them out by naming them in QUIRE_WITHOUT, with the measurement that says why.
function(quire_harden NAME)
  set(is_in $<NOT:$<IN_LIST:${NAME},$<TARGET_PROPERTY:QUIRE_WITHOUT>>>)
  foreach(option ${ARGN})
    target_compile_options(quire_options INTERFACE $<${is_in}:${option}>)
  endforeach()
endfunction()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT QUIRE_SANITIZE)
  quire_harden(protector -fstack-protector-strong)
  quire_harden(fortify -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  quire_harden(assertions -D_GLIBCXX_ASSERTIONS)
  target_link_options(quire_options INTERFACE -Wl,-z,relro,-z,now)
endif()
# Where the checkout lies is known only to those who include <quire_paths.h>: on every command line it
# would make the compiler cache useless to a second checkout.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/quire_paths.h CONTENT
"#pragma once
#define QUIRE_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\"
#define QUIRE_BINARY_DIR \"${CMAKE_BINARY_DIR}\"
")
target_include_directories(quire_options INTERFACE ${CMAKE_BINARY_DIR}/generated)
# At -O1 and in instrumented code g++ 12 does not see that an optional was tested before its value is
# read, or which alternative of a variant is destroyed, and warns of both.
set(QUIRE_BLIND_WARNINGS_OFF $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-free-nonheap-object>)
if(QUIRE_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(quire_options INTERFACE ${QUIRE_BLIND_WARNINGS_OFF})
endif()
if(QUIRE_SANITIZE)
  target_compile_options(quire_options INTERFACE -fsanitize=${QUIRE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(quire_options INTERFACE -fsanitize=${QUIRE_SANITIZE})
  if(QUIRE_SANITIZE STREQUAL "thread")
    # g++ warns of Asio's fences, which the sanitizer does not see; Asio's own locks order the same.
    target_compile_options(quire_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()
if(QUIRE_FUZZ)
  target_compile_options(quire_options INTERFACE -fsanitize=fuzzer-no-link)
  add_custom_target(fuzzers)
endif()

# quire_together(RESULT NAME SOURCE...): if QUIRE_UNITY is on, files that include up to QUIRE_UNITY_COUNT of
# the sources each, instead of those, because most of a file's time goes to headers and templates that
# its neighbours use too; else the sources. A name in an anonymous namespace is therefore there once in
# a target: tests whose helpers have the names of another file's are in a namespace named after their
# file. The other presets check what a file includes. CMake's own UNITY_BUILD writes absolute paths, with
# which nothing is found in the compiler cache from a second checkout.
set(QUIRE_UNITY_COUNT 16)
function(quire_together RESULT NAME)
  if(NOT QUIRE_UNITY)
    set(${RESULT} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/generated/together)
  # g++ means headers: there a member must not have a type that each reader has for itself.
  set(begin "#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"
#endif
")
  set(rest ${ARGN})
  set(number 0)
  set(files)
  while(rest)
    list(SUBLIST rest 0 ${QUIRE_UNITY_COUNT} some)
    list(REMOVE_ITEM rest ${some})
    set(text "${begin}")
    foreach(source ${some})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      file(RELATIVE_PATH path ${folder} ${source})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${folder}/${NAME}_${number}.cc CONTENT "${text}" @ONLY)
    list(APPEND files ${folder}/${NAME}_${number}.cc)
    math(EXPR number "${number} + 1")
  endwhile()
  set(${RESULT} ${files} PARENT_SCOPE)
endfunction()

# quire_fuzzer(FILE LIBRARY...): the program of an X_fuzz.cc, a fuzzer or a test with its seeds.
function(quire_fuzzer FILE)
  get_filename_component(program ${FILE} NAME_WE)
  add_executable(${program} ${FILE})
  target_link_libraries(${program} PRIVATE ${ARGN} quire_test_support)
  if(QUIRE_FUZZ)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${program})
  else()
    target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/replay_seeds.cc)
    target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O1> ${QUIRE_BLIND_WARNINGS_OFF})
    add_test(NAME ${program}_takes_its_seeds
      COMMAND ${program} ${CMAKE_SOURCE_DIR}/tests/fuzz/${program})
  endif()
endfunction()

function(quire_library NAME)
  cmake_parse_arguments(ARG "NO_RECURSE" "FOLDER" "DEPS;TEST_DEPS;MORE" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(patterns ${ARG_FOLDER} ${ARG_MORE})  # MORE: further folders of the same library.
  list(TRANSFORM patterns APPEND /*.cc)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|bench)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(sources)
    # A test program puts its own copies of the files with planted faults before the library's, so those
    # are members of their own: one for each test program that replaces some.
    set(members)
    foreach(planted PAGES SHARED ENGINE SANDBOX)
      set(replaced ${QUIRE_PLANTED_${planted}})
      list(TRANSFORM replaced PREPEND ${CMAKE_SOURCE_DIR}/src/)
      set(apart)
      foreach(source ${sources})
        if(source IN_LIST replaced)
          list(APPEND apart ${source})
        endif()
      endforeach()
      if(apart)
        list(REMOVE_ITEM sources ${apart})
        string(TOLOWER ${NAME}_planted_${planted} member)
        quire_together(member ${member} ${apart})
        list(APPEND members ${member})
      endif()
    endforeach()
    quire_together(together ${NAME} ${sources})
    add_library(${NAME} STATIC ${together} ${members})
    set_target_properties(${NAME} PROPERTIES QUIRE_WITHOUT "${QUIRE_WITHOUT}")
    target_link_libraries(${NAME} PUBLIC quire_options ${ARG_DEPS})
  else()
    add_library(${NAME} INTERFACE)
    target_link_libraries(${NAME} INTERFACE quire_options ${ARG_DEPS})
  endif()
  if(tests AND NOT QUIRE_FUZZ)
    quire_test(${NAME}_test SOURCES ${tests} DEPS ${NAME} ${ARG_TEST_DEPS})
  endif()
  foreach(file ${fuzzers})
    quire_fuzzer(${file} ${NAME} ${ARG_TEST_DEPS})
  endforeach()
endfunction()

# The files that ask for is_planted(), by the test program that brings copies of them with faults to switch
# on: the random programs on pages (tests/control), the simulation of the engine (tests/simulation), both of
# these for faults with adapters, and the Wasm engine's edge (tests/sandbox). The test program's copies are linked first, so that they take the place
# of the library's.
set(QUIRE_PLANTED_PAGES
  control/pages/cold_pages.cc control/pages/page_cache.cc
  control/pages/page_pool.cc control/pages/page_trie.cc control/contexts/context_flight.cc
  control/contexts/working_pages.cc control/contexts/context_edits.cc control/contexts/context_suspend.cc
  control/scheduler/batch_order.cc control/steps/context_steps.cc
  control/steps/forward_steps.cc control/steps/host_steps.cc
  control/store/page_image.cc
  control/store/snapshot_store_collect.cc control/store/snapshot_store_plan.cc
  control/store/snapshot_store_save.cc control/store/store_file.cc control/tiers/page_tiers.cc
  application/lifecycle/admission.cc)
set(QUIRE_PLANTED_SHARED
  control/batches/batch_draft.cc control/contexts/context_states.cc control/contexts/tail_page.cc
  control/pages/page_name.cc control/states/state_cache.cc)
set(QUIRE_PLANTED_ENGINE
  application/hostcalls/future_table.cc application/hostcalls/handle_table.cc
  application/hostcalls/mailbox.cc
  application/lifecycle/child_budgets.cc application/lifecycle/child_programs.cc
  application/server/log_queue.cc
  control/controller/controller.cc control/controller/issue/queues.cc control/objects/dispatcher.cc
  control/scheduler/scheduler.cc)
set(QUIRE_PLANTED_SANDBOX application/sandbox/compile_worker.cc application/sandbox/wasmtime_instance.cc)

# quire_planted_files(RESULT LIST): the sources of one of these lists, for the test program that replaces them.
function(quire_planted_files RESULT LIST)
  set(files ${QUIRE_PLANTED_${LIST}})
  list(TRANSFORM files PREPEND ${CMAKE_SOURCE_DIR}/src/)
  quire_together(together quire_planted_${LIST} ${files})
  set(${RESULT} ${together} PARENT_SCOPE)
endfunction()

# Readers of goldens and writers of model files that tests of several folders share (tests/support).
find_package(ZLIB REQUIRED)
add_library(quire_test_support INTERFACE)
target_include_directories(quire_test_support INTERFACE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(quire_test_support INTERFACE quire_options ZLIB::ZLIB)

# quire_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT s] [ALONE]): a GoogleTest program. ALONE:
# its cases measure time, so that ctest runs nothing beside them.
function(quire_test NAME)
  cmake_parse_arguments(ARG "ALONE" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(QUIRE_SANITIZE)  # Ten to fifty times as slow, and campaigns on 2 cores run two at a time.
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 6")
  endif()
  quire_together(together ${NAME} ${ARG_SOURCES})
  add_executable(${NAME} ${together})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} quire_test_support GTest::gtest GTest::gtest_main Threads::Threads)
  # Compiling tests is nearly half of a cold build, and a quarter of that is -O2.
  target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-O1> ${QUIRE_BLIND_WARNINGS_OFF})
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)  # An empty one would be lost, and the next name taken for it.
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if(ARG_ALONE)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  gtest_discover_tests(${NAME} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
