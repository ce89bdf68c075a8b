//! The Rust parts of Quire, with C functions: wasmtime's own C API, and the functions of
//! include/quire_engines.h over `tokenizers` and over `jinja/`, our engine of chat templates.
//!
//! Every function of ours catches panics and gives them back as errors: nothing that a model file
//! or a request holds may end the server.

// Named so that the linker keeps wasmtime's exported C functions in this static library.
extern crate wasmtime_c_api;

mod boundary;
mod classes;
mod grammar;
mod jinja;
mod limits;
mod matcher;
mod memory;
mod pattern;
mod pipeline;
mod program;
mod settings;
mod template;
mod tokenizer;
mod words;
