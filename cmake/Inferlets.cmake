# Every inferlets/*/*.cpp becomes build/<preset>/inferlets/<name>.wasm, with the flags that
# `quire build` uses (sdk/cpp/guest_flags.rsp) and the same last step, quire-finish-module: short names
# of functions, for backtraces, and the section quire.options. What libraries carry for debuggers goes.
# A build without the Wasm engine has no last step, because the programs cannot run there.
#
# quire_inferlet(SOURCE): adds it to target `inferlets`.
# Where the headers of the SDK are: its own, and those by which tokens are drawn, which hosts include too.
set(QUIRE_SDK_FOLDERS ${CMAKE_SOURCE_DIR}/sdk/cpp/include ${CMAKE_SOURCE_DIR}/draw/include)
list(TRANSFORM QUIRE_SDK_FOLDERS PREPEND -I OUTPUT_VARIABLE QUIRE_SDK_INCLUDES)
list(TRANSFORM QUIRE_SDK_FOLDERS APPEND /quire/*.h OUTPUT_VARIABLE QUIRE_SDK_HEADERS)
find_program(QUIRE_GUEST_COMPILER NAMES clang++-22 DOC "clang for wasm32-wasi")
set(QUIRE_GUEST_PACKAGES
  "clang-22 lld-22 wasi-libc libc++-22-dev-wasm32 libc++abi-22-dev-wasm32 libclang-rt-22-dev-wasm32")
file(STRINGS ${CMAKE_SOURCE_DIR}/sdk/cpp/guest_flags.rsp QUIRE_GUEST_FLAGS)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/sdk/cpp/guest_flags.rsp)

function(quire_check_guest_compiler)
  if(NOT QUIRE_GUEST_COMPILER)
    message(FATAL_ERROR "inferlets need clang 22 for wasm32. Install: ${QUIRE_GUEST_PACKAGES}")
  endif()
  if(QUIRE_GUEST_COMPILER STREQUAL QUIRE_GUEST_COMPILER_CHECKED)
    return()
  endif()
  # Links against libc++, so that a missing library is found here and not in the middle of a build.
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/guest_probe)
  file(WRITE ${probe}.cpp "#include <string>\nstd::string text(1000, 'a');\nint main() { return text.size() == 1; }\n")
  execute_process(
    COMMAND ${QUIRE_GUEST_COMPILER} --target=wasm32-wasi -Wno-deprecated -fno-exceptions -std=c++20
            ${probe}.cpp -o ${probe}.wasm
    RESULT_VARIABLE failed ERROR_VARIABLE messages)
  if(failed)
    message(FATAL_ERROR "${QUIRE_GUEST_COMPILER} cannot build for wasm32-wasi:\n${messages}\n"
      "Install: ${QUIRE_GUEST_PACKAGES}")
  endif()
  set(QUIRE_GUEST_COMPILER_CHECKED ${QUIRE_GUEST_COMPILER} CACHE INTERNAL "links for wasm32-wasi")
endfunction()

# quire_precompile(HEADER OUTPUT FLAGS): a header that includes the SDK, compiled once by the guests'
# compiler. The compiler cache reads the file .sum in its place, because the result has the paths of this
# checkout.
function(quire_precompile HEADER OUTPUT FLAGS)
  file(GLOB headers CONFIGURE_DEPENDS ${QUIRE_SDK_HEADERS})
  add_custom_command(OUTPUT ${OUTPUT}
    COMMAND ${QUIRE_GUEST_COMPILER} ${FLAGS} -fpch-instantiate-templates -Xclang -fno-pch-timestamp
            -MD -MF ${OUTPUT}.d -MT ${OUTPUT} -x c++-header ${HEADER} -o ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} -E cat ${HEADER} ${headers} > ${OUTPUT}.sum
    DEPENDS ${HEADER} ${headers} DEPFILE ${OUTPUT}.d VERBATIM
    COMMENT "Precompiling the SDK")
endfunction()

# All of <quire/quire.h> with the flags of programs: half of the time of a program that includes it.
set(QUIRE_SDK_PRECOMPILED ${CMAKE_BINARY_DIR}/generated/guests/quire.pch)
function(quire_precompile_sdk)
  set(flags ${QUIRE_GUEST_FLAGS} ${QUIRE_SDK_INCLUDES})
  list(FILTER flags EXCLUDE REGEX "^-Wl,")
  quire_precompile(${CMAKE_SOURCE_DIR}/sdk/cpp/include/quire/quire.h ${QUIRE_SDK_PRECOMPILED}
    "${flags}")
endfunction()

# Whether a program, or a header beside it, includes all of the SDK.
function(quire_includes_sdk SOURCE result)
  get_filename_component(folder ${SOURCE} DIRECTORY)
  file(GLOB headers ${folder}/*.h)
  set(${result} OFF PARENT_SCOPE)
  foreach(file ${SOURCE} ${headers})
    file(STRINGS ${file} line REGEX "^#include \"quire/quire.h\"" LIMIT_COUNT 1)
    if(line)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Adds the commands that make the module `wasm` of SOURCE; `object` lies between. LIBRARIES are linked.
function(quire_guest_module SOURCE object wasm)
  cmake_parse_arguments(ARG "" "" "OPTIONS;NEEDS;LIBRARIES" ${ARGN})
  get_filename_component(name ${SOURCE} NAME_WE)
  quire_includes_sdk(${SOURCE} includes_sdk)
  if(includes_sdk)
    list(APPEND ARG_OPTIONS -include-pch ${QUIRE_SDK_PRECOMPILED})
    list(APPEND ARG_NEEDS ${QUIRE_SDK_PRECOMPILED})
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${QUIRE_GUEST_COMPILER} ${QUIRE_GUEST_FLAGS}
            ${QUIRE_SDK_INCLUDES} ${ARG_OPTIONS}
            -MMD -MF ${object}.d -MT ${object} -c ${SOURCE} -o ${object}
    DEPENDS ${SOURCE} ${CMAKE_SOURCE_DIR}/sdk/cpp/guest_flags.rsp ${ARG_NEEDS}
    DEPFILE ${object}.d VERBATIM COMMENT "Compiling guest ${name}")
  set(finish)
  if(TARGET quire-finish-module)
    set(finish COMMAND quire-finish-module ${wasm})
  endif()
  add_custom_command(OUTPUT ${wasm}
    COMMAND ${QUIRE_GUEST_COMPILER} ${QUIRE_GUEST_FLAGS} -mexec-model=reactor -Wl,--strip-debug ${object}
            ${ARG_LIBRARIES} -o ${wasm}
    ${finish}
    DEPENDS ${object} VERBATIM COMMENT "Linking ${name}.wasm")
endfunction()

# QuickJS for programs, which tools/build_quickjs.sh makes; empty where it is missing.
function(quire_find_quickjs folder)
  file(STRINGS ${CMAKE_SOURCE_DIR}/tools/build_quickjs.sh lines REGEX "^readonly (version|revision)=")
  string(REGEX REPLACE ".*version=([^;]*);.*revision=([0-9]+).*" "\\1-\\2" version "${lines}")
  set(cache $ENV{HOME}/.cache)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME})
  endif()
  set(found ${cache}/quire/quickjs-${version})
  if(DEFINED ENV{QUIRE_CACHE})
    set(found $ENV{QUIRE_CACHE}/quickjs-${version})
  endif()
  if(NOT EXISTS ${found}/complete)
    set(found "")
  endif()
  set(${folder} "${found}" PARENT_SCOPE)
endfunction()

function(quire_inferlet SOURCE)
  get_filename_component(name ${SOURCE} NAME_WE)
  set(options "")
  set(libraries "")
  if(name STREQUAL agent_codeact)
    quire_find_quickjs(quickjs)
    if(NOT quickjs)
      message(STATUS "agent_codeact is left out: run tools/build_quickjs.sh, then configure again")
      return()
    endif()
    set(options -isystem ${quickjs}/include)
    set(libraries ${quickjs}/libquickjs.a -lwasi-emulated-signal)
  endif()
  set(folder ${CMAKE_BINARY_DIR}/inferlets)
  quire_guest_module(${SOURCE} ${folder}/objects/${name}.o ${folder}/${name}.wasm
    OPTIONS -Wpedantic -Wshadow -Werror -Wno-gnu-statement-expression-from-macro-expansion ${options}
    LIBRARIES ${libraries})
  set_property(GLOBAL APPEND PROPERTY QUIRE_INFERLETS ${folder}/${name}.wasm)
endfunction()

# Every call of interface/*.wit as a C++ table, for guests that test them all.
set(QUIRE_CALL_TABLE ${CMAKE_BINARY_DIR}/generated/guests/call_table.h)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB interfaces CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/interface/*.wit)
add_custom_command(OUTPUT ${QUIRE_CALL_TABLE}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/generate_call_table.py ${QUIRE_CALL_TABLE}
  DEPENDS ${interfaces} ${CMAKE_SOURCE_DIR}/tools/generate_call_table.py
          ${CMAKE_SOURCE_DIR}/tools/generate_interface.py
  VERBATIM COMMENT "Writing call_table.h from interface/*.wit")
add_custom_target(guest_call_table DEPENDS ${QUIRE_CALL_TABLE})

# quire_test_guest(SOURCE [CALL_TABLE] [GENERATED HEADER...]): a program that only tests run, as
# NAME.wasm in the current binary folder; its path is appended to `guests` of the caller. CALL_TABLE:
# it includes "call_table.h". GENERATED: headers in generated/guests that it includes.
function(quire_test_guest SOURCE)
  cmake_parse_arguments(ARG "CALL_TABLE" "" "GENERATED" ${ARGN})
  get_filename_component(name ${SOURCE} NAME_WE)
  set(guest ${CMAKE_CURRENT_BINARY_DIR}/${name}.wasm)
  set(needs ${ARG_GENERATED})
  set(options "")
  if(ARG_CALL_TABLE OR ARG_GENERATED)
    list(APPEND options -I${CMAKE_BINARY_DIR}/generated/guests)
  endif()
  if(ARG_CALL_TABLE)
    list(APPEND needs guest_call_table)
  endif()
  quire_guest_module(${SOURCE} ${CMAKE_CURRENT_BINARY_DIR}/${name}.o ${guest}
    OPTIONS ${options} NEEDS ${needs})
  set(guests ${guests} ${guest} PARENT_SCOPE)
endfunction()

# quire_runtime(NAME VERSION MODULE FOLDER): a runtime for scripts of the module, started once, in FOLDER as
# NAME.wasm, NAME.cwasm and NAME.json (src/application/sandbox/script_runtimes.h).
function(quire_runtime NAME VERSION MODULE FOLDER)
  file(MAKE_DIRECTORY ${FOLDER})
  add_custom_command(OUTPUT ${FOLDER}/${NAME}.json ${FOLDER}/${NAME}.wasm ${FOLDER}/${NAME}.cwasm
    COMMAND quire-make-runtime ${MODULE} ${NAME} ${VERSION} ${FOLDER}
    DEPENDS ${MODULE} quire-make-runtime VERBATIM COMMENT "Starting the runtime ${NAME}")
endfunction()

quire_check_guest_compiler()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/inferlets/objects ${CMAKE_BINARY_DIR}/generated/guests)
quire_precompile_sdk()
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/inferlets/*/*.cpp)
foreach(source ${sources})
  quire_inferlet(${source})
endforeach()
get_property(inferlets GLOBAL PROPERTY QUIRE_INFERLETS)
add_custom_target(inferlets ALL DEPENDS ${inferlets})

# The installed program; its `quire build` looks for the SDK beside it
# (src/main/verbs/shared/sdk_location.h).
if(TARGET quire)
  install(TARGETS quire DESTINATION bin)
endif()
install(DIRECTORY ${QUIRE_SDK_FOLDERS} DESTINATION share/quire/sdk)
install(FILES ${CMAKE_SOURCE_DIR}/sdk/cpp/guest_flags.rsp DESTINATION share/quire/sdk)
# The crate, which projects of `quire new --language rust` name (find_rust_sdk).
install(FILES ${CMAKE_SOURCE_DIR}/sdk/rust/Cargo.toml ${CMAKE_SOURCE_DIR}/sdk/rust/README.md DESTINATION share/quire/rust)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sdk/rust/src DESTINATION share/quire/rust)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/sdk/rust/macros DESTINATION share/quire/rust
  PATTERN target EXCLUDE PATTERN Cargo.lock EXCLUDE)
install(FILES ${inferlets} DESTINATION share/quire/inferlets)
# The documents, and the clients, with the files to which they link, in the places of a checkout.
install(CODE "
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/documented_files.py
    OUTPUT_VARIABLE listed OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE \"\\n\" \";\" files \"\${listed}\")
  foreach(file IN LISTS files)
    get_filename_component(folder \"\${file}\" DIRECTORY)
    file(INSTALL \"${CMAKE_SOURCE_DIR}/\${file}\"
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/doc/quire/\${folder}\")
  endforeach()")
