#!/usr/bin/env bash
# Makes libquickjs.a for programs (wasm32): QuickJS-ng (MIT), whose C sources are in the crate
# rquickjs-sys. Once per machine, into $QUIRE_CACHE/quickjs-VERSION-REVISION (else ~/.cache/quire); prints
# that folder as its last line. It holds libquickjs.a, include/ and LICENSE. Scripts (sdk/javascript) and
# inferlets/agent_codeact need it, and are left out of a build where it is missing.
set -euo pipefail

readonly version=0.14.0
readonly revision=4  # Of what this script changes.
readonly sha256=cee271d0eeba64f0915b846cb7ae02e16faf3dfdffdca91731101d9d30fe3423
errors=$(cd "$(dirname "$0")" && pwd)/quickjs_errors.c
readonly errors
folder=${QUIRE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quire}/quickjs-$version-$revision

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit 0
fi

cargo=${CARGO:-$(command -v cargo || echo "${CARGO_HOME:-$HOME/.cargo}/bin/cargo")}
for tool in "$cargo" clang-22 llvm-ar-22; do
  command -v "$tool" >/dev/null || { echo "quickjs: needs $tool" >&2; exit 1; }
done
work=$(mktemp -d "$folder.part.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "quickjs: fetching rquickjs-sys $version ..." >&2
mkdir "$work/fetch" "$work/fetch/src"
touch "$work/fetch/src/lib.rs"
cat >"$work/fetch/Cargo.toml" <<END
[package]
name = "fetch"
version = "0.0.0"
[dependencies]
rquickjs-sys = "=$version"
END
(cd "$work/fetch" && "$cargo" vendor --quiet >/dev/null)
crate=$work/fetch/vendor/rquickjs-sys
grep -q "\"package\":\"$sha256\"" "$crate/.cargo-checksum.json" || {
  echo "quickjs: rquickjs-sys $version is not the one that is expected: $(grep -o '"package":"[^"]*"' "$crate/.cargo-checksum.json")" >&2
  exit 1
}

# Under WASI QuickJS does not watch its stack. The host does, but ends the program, and not its
# JavaScript alone; so let QuickJS watch it too. It measures the stack in the program's memory, where
# its functions need little: each one that looks takes 1 KiB there, and so do functions that call
# themselves without looking in their own frame: proxies of proxies, groups in regular expressions, the parser.
# So a stack of 700 KiB in memory is too deep before the host's 1 MiB is.
source=$crate/quickjs/quickjs.c
sed -i -e '/^static void update_stack_limit/,/^}/ s/^#if defined(__wasi__)$/#if 0/' \
  -e '/^static inline uintptr_t js_get_stack_pointer/,/^}/ s/return (uintptr_t)__builtin_frame_address(0);/volatile char here[1024]; here[0] = 0; return (uintptr_t)here;/' \
  -e 's/^static inline uintptr_t js_get_stack_pointer/__attribute__((always_inline)) &/' \
  -e 's/^static inline bool js_check_stack_overflow(JSRuntime \*rt, size_t alloca_size)$/__attribute__((always_inline)) &/' "$source"
pad() {  # FILE BYTES FUNCTION...: the definition of each begins with a local array.
  python3 - "$@" <<'END'
import re, sys
path, count, *names = sys.argv[1:]
text = open(path).read()
for name in names:
    definition = re.compile(r"^(static (?:__exception )?\w+ " + name + r"\([^;{]*\)\n\{)", re.M)
    text, found = definition.subn(rf'\1\n    char here[{count}]; __asm__ volatile("" : : "r"(here) : "memory");', text)
    if found != 1:
        sys.exit(f"quickjs: {name} in {path} is not as expected")
open(path, "w").write(text)
END
}
pad "$source" 2600 js_parse_assign_expr2
pad "$source" 1200 js_parse_statement_or_decl
pad "$source" 700 js_parse_unary
pad "$source" 1000 js_parse_postfix_expr js_parse_function_decl2 __JS_EvalInternal
pad "$source" 1000 js_proxy_getPrototypeOf js_proxy_setPrototypeOf js_proxy_isExtensible js_proxy_preventExtensions \
  js_proxy_has js_proxy_get js_proxy_set js_proxy_get_own_property js_proxy_define_own_property js_proxy_delete_property \
  js_proxy_get_own_property_names js_proxy_call_constructor js_proxy_call
pad "$crate/quickjs/libregexp.c" 1000 re_parse_disjunction re_parse_nested_class
if [ "$(grep -c -e 'volatile char here\[1024\]' -e '^__attribute__((always_inline)) static' "$source")" != 3 ] ||
  sed -n '/^static void update_stack_limit/,/^}/p' "$source" | grep -q __wasi__; then
  echo "quickjs: the stack checks in quickjs.c are not as expected" >&2
  exit 1
fi
# Errors that name the value, and the promise that was not awaited; stacks that begin with the error's own line.
python3 - "$source" "$errors" <<'END'
import sys
path, errors = sys.argv[1:]
text = open(path).read()
def change(before, after):
    global text
    if text.count(before) != 1:
        sys.exit(f"quickjs: quickjs.c is not as expected: {before!r} is there {text.count(before)} times")
    text = text.replace(before, after)
first = "static void build_backtrace(JSContext *ctx, JSValueConst error_val,"
change(first, """static JSValue quire_throw_not_a_function(JSContext *ctx, JSValueConst this_obj);
static JSValue quire_throw_cannot_read(JSContext *ctx, const char *of, JSAtom prop);
static JSValue quire_throw_not_iterable(JSContext *ctx, JSValueConst value);
static void quire_put_first_line(JSContext *ctx, DynBuf *into, JSValueConst error);
""" + first)
begun = "        js_dbuf_init(ctx, &dbuf);\n"
limit = "        if (stack_trace_limit == 0)\n            goto done;\n        if (filename) {\n            i++;"
change(begun + limit, begun + "        quire_put_first_line(ctx, &dbuf, error_obj);\n" + limit)
change("return JS_ThrowTypeErrorNotAFunction(caller_ctx);", "return quire_throw_not_a_function(caller_ctx, this_obj);")
change('    return JS_ThrowTypeError(ctx, "not a function");\n}\n\nstatic JSValue JS_ThrowTypeErrorNotAnObject',
       '    return quire_throw_not_a_function(ctx, JS_UNDEFINED);\n}\n\nstatic JSValue JS_ThrowTypeErrorNotAnObject')
for value in ("null", "undefined"):
    change(f"""return JS_ThrowTypeErrorAtom(ctx, "cannot read property '%s' of {value}", prop);""",
           f'return quire_throw_cannot_read(ctx, "{value}", prop);')
call = "            sync_iter = JS_GetIterator2(ctx, obj, method);\n"
change(call, "            if (JS_IsUndefined(method))\n                return quire_throw_not_iterable(ctx, obj);\n" + call)
change("""        return JS_ThrowTypeError(ctx, "value is not iterable");
    }
    ret = JS_GetIterator2""", """        return quire_throw_not_iterable(ctx, obj);
    }
    ret = JS_GetIterator2""")
# Modules that import one another too deep are an exception, and are resolved again at the next import.
change("    if (m->resolved)\n        return 0;\n",
       "    if (m->resolved)\n        return 0;\n    if (js_check_stack_overflow(ctx->rt, 0)) {\n"
       "        JS_ThrowStackOverflow(ctx);\n        return -1;\n    }\n")
change("        if (!m1)\n            return -1;\n        rme->module = m1;\n",
       "        if (!m1)\n            return m->resolved = false, -1;\n        rme->module = m1;\n")
change("        if (js_resolve_module(ctx, m1) < 0)\n            return -1;\n    }\n    return 0;\n}\n",
       "        if (js_resolve_module(ctx, m1) < 0)\n            return m->resolved = false, -1;\n    }\n    return 0;\n}\n")
# An error needs memory itself, also where it says that there is none left: it may take this much more.
reserve = "if (rt->malloc_state.malloc_limit)\n        rt->malloc_state.malloc_limit += 16384;\n"
back = "rt->malloc_state.malloc_limit = malloc_limit;\n"
change("        rt->in_out_of_memory = true;\n        JS_ThrowInternalError(ctx, \"out of memory\");\n",
       "        size_t malloc_limit = rt->malloc_state.malloc_limit;\n        rt->in_out_of_memory = true;\n        "
       + reserve + "        JS_ThrowInternalError(ctx, \"out of memory\");\n        " + back)
change("    rt->in_build_stack_trace = true;\n    error_obj = js_dup(error_val);\n",
       "    rt->in_build_stack_trace = true;\n    size_t malloc_limit = rt->malloc_state.malloc_limit;\n    "
       + reserve + "    error_obj = js_dup(error_val);\n")
change("    JS_FreeValue(ctx, error_obj);\n    rt->in_build_stack_trace = false;\n}\n\nJSValue JS_NewError(",
       "    JS_FreeValue(ctx, error_obj);\n    " + back + "    rt->in_build_stack_trace = false;\n}\n\nJSValue JS_NewError(")
open(path, "w").write(text + f'\n#include "{errors}"\n')
END
echo "quickjs: compiling (about a minute) ..." >&2
mkdir -p "$work/done/include"
for source in quickjs libregexp libunicode dtoa; do
  clang-22 --target=wasm32-wasi -std=gnu11 -Oz -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL \
    -ffunction-sections -fdata-sections -w -c "$crate/quickjs/$source.c" -o "$work/$source.o"
done
llvm-ar-22 rcs "$work/done/libquickjs.a" "$work"/*.o
cp "$crate/quickjs/quickjs.h" "$work/done/include/"
cp "$crate/quickjs/LICENSE" "$work/done/"
touch "$work/done/complete"
rm -rf "$folder"
mv "$work/done" "$folder"
echo "$folder"
