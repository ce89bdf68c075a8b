# The top of Quire's build: every target is a few calls of the scripts in tools/. `make` prints them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help setup run install uninstall test campaign lint format bench model clean build

PREFIX ?= $(HOME)/.local
PROMPT ?= Why is the sky blue?
PARTS ?=
QUIRE := build/release/quire
PROGRAM := build/release/inferlets/text_completion.wasm

help: ## print these targets
	@echo "Quire: a serving system for language models in which the unit of service is a program."
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: ## install packages, build the engines, fetch the default model
	@tools/setup.sh packages engines quickjs model

run: ## set up, build, and let a program in the server stream an answer (PROMPT="...")
	@tools/setup.sh packages engines model answer
	@$(QUIRE) run $(PROGRAM) -- --chat --max-tokens 160 --prompt "$(PROMPT)"

build: ## build quire and all its inferlets, the endpoints among them: build/release
	@tools/setup.sh packages engines quickjs build

install: ## build what is missing; install quire, its manual, docs, SDKs, clients and inferlets (PREFIX=~/.local)
	@tools/install.sh "$(PREFIX)"
	@command -v quire >/dev/null || echo "Put $(PREFIX)/bin on your PATH to call quire by its name."

uninstall: ## remove what make install wrote, and nothing else (PREFIX=~/.local)
	@tools/install.sh --remove "$(PREFIX)"

test: ## set up, build and run all tests, with a rotating share of the seeds
	@tools/setup.sh packages engines quickjs rust model goldens build_tests
	@tools/run_tests.sh release

campaign: ## every seed, also under sanitizers; fuzzers and what they reach (PARTS="asan fuzz")
	@tools/setup.sh packages engines quickjs rust model goldens build_tests
	@tools/campaign.sh $(PARTS)

lint: ## check the layout of the code, the arrows between layers, and sizes
	@tools/lint.sh

format: ## let clang-format settle the layout of the code
	@tools/lint.sh --fix

bench: ## run every measurement of quire-bench, a quarter of an hour
	@tools/setup.sh packages engines quickjs model build
	@tools/bench.sh

model: ## fetch the default model, SmolLM2-135M-Instruct Q4_1, and check its SHA-256
	@tools/setup.sh packages model

clean: ## remove build/ (caches under ~/.cache/quire and models stay)
	rm -rf build
