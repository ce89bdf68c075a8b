# The one Rust static library: wasmtime's C API, tokenizers and minijinja behind C functions.
# tools/build_engines.sh builds it once per machine outside the checkout and prints its folder,
# which holds libquire_engines.a and include/.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/build_engines.sh
  OUTPUT_VARIABLE QUIRE_ENGINES_OUTPUT RESULT_VARIABLE QUIRE_ENGINES_FAILED OUTPUT_STRIP_TRAILING_WHITESPACE)
if(QUIRE_ENGINES_FAILED)
  message(FATAL_ERROR "tools/build_engines.sh failed: see its message above")
endif()
string(REGEX REPLACE ".*\n" "" QUIRE_ENGINES_FOLDER "${QUIRE_ENGINES_OUTPUT}")
add_library(quire_engines STATIC IMPORTED GLOBAL)
set_target_properties(quire_engines PROPERTIES
  IMPORTED_LOCATION ${QUIRE_ENGINES_FOLDER}/libquire_engines.a
  INTERFACE_INCLUDE_DIRECTORIES ${QUIRE_ENGINES_FOLDER}/include
  INTERFACE_LINK_LIBRARIES "pthread;dl;m")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/engines/Cargo.toml ${CMAKE_SOURCE_DIR}/engines/Cargo.lock)
