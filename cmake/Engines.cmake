# The one Rust static library: wasmtime's C API, tokenizers and chat templates behind C functions.
# tools/build_engines.sh builds it once per machine outside the checkout and prints its folder,
# which holds libquire_engines.a and include/. Code that links it sees QUIRE_ENGINES defined.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/build_engines.sh
  OUTPUT_VARIABLE QUIRE_ENGINES_OUTPUT RESULT_VARIABLE QUIRE_ENGINES_FAILED OUTPUT_STRIP_TRAILING_WHITESPACE)
if(QUIRE_ENGINES_FAILED)
  message(FATAL_ERROR "tools/build_engines.sh failed: see its message above. "
    "(-DQUIRE_WASM=OFF builds without Wasm, byte-level tokenizers and chat templates.)")
endif()
string(REGEX REPLACE ".*\n" "" QUIRE_ENGINES_FOLDER "${QUIRE_ENGINES_OUTPUT}")
add_library(quire_engines STATIC IMPORTED GLOBAL)
set_target_properties(quire_engines PROPERTIES
  IMPORTED_LOCATION ${QUIRE_ENGINES_FOLDER}/libquire_engines.a
  INTERFACE_INCLUDE_DIRECTORIES ${QUIRE_ENGINES_FOLDER}/include
  INTERFACE_COMPILE_DEFINITIONS QUIRE_ENGINES=1
  INTERFACE_LINK_OPTIONS "-Wl,--gc-sections"
  INTERFACE_LINK_LIBRARIES "pthread;dl;m")
file(GLOB QUIRE_ENGINES_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engines/src/*.rs
  ${CMAKE_SOURCE_DIR}/engines/src/*/*.rs
  ${CMAKE_SOURCE_DIR}/engines/include/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/engines/Cargo.toml ${CMAKE_SOURCE_DIR}/engines/Cargo.lock
  ${CMAKE_SOURCE_DIR}/tools/build_engines.sh ${QUIRE_ENGINES_SOURCES}
  ${QUIRE_ENGINES_FOLDER}/complete)  # The script removes folders of older sources.
if(NOT QUIRE_FUZZ)
  quire_test(quire_engines_test SOURCES ${CMAKE_SOURCE_DIR}/engines/engines_test.cc
    DEPS quire_base quire_engines)
endif()
