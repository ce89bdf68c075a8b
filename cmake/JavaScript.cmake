# The runtime of scripts in JavaScript and TypeScript, as a module whose init() was not run yet:
# build/<preset>/scripts/javascript.wasm, target javascript_module. It needs QuickJS
# (tools/build_quickjs.sh), and is left out where that is missing. Without sucrase
# (tools/fetch_npm.sh sucrase) it refuses TypeScript.

quire_find_quickjs(quickjs)
if(NOT quickjs)
  message(STATUS "scripts are left out: run tools/build_quickjs.sh, then configure again")
  add_custom_target(runtimes)  # Of none.
  return()
endif()
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/fetch_npm.sh versions REGEX "^    version=")
list(GET versions 0 version)
string(REPLACE "    version=" "" version ${version})
get_filename_component(sucrase ${quickjs} DIRECTORY)
set(sucrase ${sucrase}/sucrase-${version})
if(NOT EXISTS ${sucrase}/complete)
  message(STATUS "scripts in TypeScript are left out: run tools/fetch_npm.sh sucrase, then configure again")
  set(sucrase "")
endif()

set(javascript ${CMAKE_SOURCE_DIR}/sdk/javascript)
set(scripts ${CMAKE_BINARY_DIR}/scripts)
set(generated ${CMAKE_BINARY_DIR}/generated/javascript)
file(MAKE_DIRECTORY ${scripts} ${generated})
file(GLOB interfaces CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/interface/*.wit)
file(GLOB library CONFIGURE_DEPENDS ${javascript}/library/*.js)
add_custom_command(OUTPUT ${generated}/raw_calls.h
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/interface_javascript.py calls ${generated}/raw_calls.h
  DEPENDS ${interfaces} ${CMAKE_SOURCE_DIR}/tools/interface_javascript.py
          ${CMAKE_SOURCE_DIR}/tools/generate_interface.py
  VERBATIM COMMENT "Writing raw_calls.h from interface/*.wit")
add_custom_command(OUTPUT ${generated}/embedded_sources.h
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/embed_javascript.py
          ${javascript}/library "${sucrase}" ${generated}/embedded_sources.h
  DEPENDS ${library} ${CMAKE_SOURCE_DIR}/tools/embed_javascript.py
  VERBATIM COMMENT "Writing embedded_sources.h from sdk/javascript/library")

# As quire_guest_module, without its last step, which would run the program: quire-make-runtime does.
add_custom_command(OUTPUT ${scripts}/javascript.o
  COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${QUIRE_GUEST_COMPILER} ${QUIRE_GUEST_FLAGS}
          ${QUIRE_SDK_INCLUDES} -I${javascript}/runtime -I${javascript}/include -I${generated}
          -isystem ${quickjs}/include -Wpedantic -Wshadow -Werror -Wno-gcc-compat
          -Wno-gnu-statement-expression-from-macro-expansion
          -MMD -MF ${scripts}/javascript.o.d -MT ${scripts}/javascript.o
          -c ${javascript}/runtime/javascript.cpp -o ${scripts}/javascript.o
  DEPENDS ${javascript}/runtime/javascript.cpp ${CMAKE_SOURCE_DIR}/sdk/cpp/guest_flags.rsp
          ${generated}/raw_calls.h ${generated}/embedded_sources.h
  DEPFILE ${scripts}/javascript.o.d VERBATIM COMMENT "Compiling the runtime of JavaScript")
add_custom_command(OUTPUT ${scripts}/javascript.wasm
  COMMAND ${QUIRE_GUEST_COMPILER} ${QUIRE_GUEST_FLAGS} -mexec-model=reactor -Wl,--strip-debug
          -Wl,--wrap=clock_gettime -Wl,--wrap=gettimeofday -Wl,--wrap=sbrk
          ${scripts}/javascript.o ${quickjs}/libquickjs.a -lwasi-emulated-signal
          -o ${scripts}/javascript.wasm
  DEPENDS ${scripts}/javascript.o ${quickjs}/libquickjs.a VERBATIM COMMENT "Linking javascript.wasm")
add_custom_target(javascript_module DEPENDS ${scripts}/javascript.wasm)

# For editors.
install(FILES ${javascript}/quire.d.ts ${javascript}/quire_raw.d.ts DESTINATION share/quire/sdk/javascript)

# Started and compiled: what quire loads. A build without the Wasm engine has nothing to do that with.
if(TARGET quire-make-runtime)
  set(runtimes ${CMAKE_BINARY_DIR}/runtimes)
  quire_runtime(javascript ${PROJECT_VERSION} ${scripts}/javascript.wasm ${runtimes})
  add_custom_target(runtimes ALL DEPENDS ${runtimes}/javascript.json)
  install(FILES ${runtimes}/javascript.json ${runtimes}/javascript.wasm ${runtimes}/javascript.cwasm
    DESTINATION share/quire/runtimes)
endif()
